/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf mark and gp-bpf exclude: add marks or exclusions to a store, list them, and remove
 * them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/command/command.h"
#include "userspace/output/history.h"
#include "userspace/store/query.h"

#define NOTES_SCHEMA 1

static int mark_exit_code(int err, const char *what)
{
	if (!err)
		return EXIT_OK;
	log_error("%s: %s", what, err == -ENOENT ? "no such job; see gp-bpf jobs" : store_why(err));
	return EXIT_RUNTIME;
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct listing {
	struct store *store;
	struct buffer out;
	bool json, any;
};

static const struct store_span everything;

static int cmd_mark_exclusion_show(void *ctx, const struct store_note *n)
{
	char from[EPOCH_TEXT_MAX], to[EPOCH_TEXT_MAX], took[16];
	struct listing *l = ctx;

	if (l->json) {
		json_open(&l->out, NULL, '{');
		json_int(&l->out, "id", n->id);
		json_time(&l->out, "from", n->at_ns);
		json_time(&l->out, "to", n->to_ns);
		json_int(&l->out, "length_ns", n->to_ns - n->at_ns);
		json_string(&l->out, "why", n->text);
		json_close(&l->out, '}');
		return 0;
	}
	if (!l->any)
		buffer_printf(&l->out, "%4s  %-19s  %-19s  %9s  %s\n", "ID", "FROM (UTC)",
			      "TO (UTC)", "LENGTH", "WHY");
	l->any = true;
	buffer_printf(&l->out, "%4lld  %-19s  %-19s  %9s  %s\n", (long long)n->id,
		      epoch_text(from, n->at_ns / 1000, 0), epoch_text(to, n->to_ns / 1000, 0),
		      clock_duration(took, sizeof(took), (uint64_t)(n->to_ns - n->at_ns)), n->text);
	return 0;
}

static int mark_show(void *ctx, const struct store_note *n)
{
	struct store_job *job = malloc(sizeof(*job));
	int err = job ? store_job_by_id(((struct listing *)ctx)->store, n->job, job) : -ENOMEM;
	const char *name = err ? "-" : *job->name ? job->name : job->key;
	struct listing *l = ctx;
	char at[EPOCH_TEXT_MAX];

	if (err && err != -ENOENT) {
		free(job);
		return err;
	}
	if (l->json) {
		json_open(&l->out, NULL, '{');
		json_int(&l->out, "id", n->id);
		json_time(&l->out, "time", n->at_ns);
		json_string(&l->out, "job", err ? NULL : name);
		json_string(&l->out, "text", n->text);
		json_close(&l->out, '}');
	} else {
		if (!l->any)
			buffer_printf(&l->out, "%4s  %-19s  %-24s  %s\n", "ID", "TIME (UTC)", "JOB",
				      "TEXT");
		buffer_printf(&l->out, "%4lld  %-19s  %-24.24s  %s\n", (long long)n->id,
			      epoch_text(at, n->at_ns / 1000, 0), name, n->text);
	}
	l->any = true;
	free(job);
	return 0;
}

static int marks_list(struct listing *l, const char *name)
{
	struct store_job *job = malloc(sizeof(*job));
	int err = !job ? -ENOMEM : name ? store_job(l->store, name, job) : 0;

	if (!err)
		err = store_marks(l->store, name ? job->id : 0, &everything, mark_show, l);
	free(job);
	return err;
}

/* Lists the marks of the named job (NULL: of all jobs), or the exclusions. */
static int marks_or_exclusions_list(const struct options *o, bool marks, const char *name)
{
	const char *what = marks ? "marks" : "exclusions";
	struct listing l = {.json = o->json};
	int err = history_open(&l.store, o, STORE_READ), code;

	if (err)
		return EXIT_RUNTIME;
	if (l.json) {
		json_open(&l.out, NULL, '{');
		json_uint(&l.out, "schema", NOTES_SCHEMA);
		json_open(&l.out, what, '[');
	}
	err = marks ? marks_list(&l, name)
		    : store_exclusions(l.store, &everything, cmd_mark_exclusion_show, &l);
	if (l.json) {
		json_close(&l.out, ']');
		json_close(&l.out, '}');
		buffer_add(&l.out, "\n", 1);
	}
	code = mark_exit_code(err || !l.out.failed ? err : -ENOMEM, marks ? "mark" : "exclude");
	if (!code && l.out.len)
		fwrite(l.out.data, 1, l.out.len, stdout);
	else if (!code)
		log_warn("%s has no %s%s%s", store_path(l.store), what, name ? " of " : "",
			 name ? name : "");
	buffer_free(&l.out);
	store_close(l.store);
	return code;
}

static int cmd_mark_take_back(const struct options *o, const char *what,
			      int (*take)(struct store *st, int64_t id))
{
	struct store *st;
	int err;

	if (history_open(&st, o, STORE_NOTE))
		return EXIT_RUNTIME;
	err = take(st, o->remove);
	if (err)
		log_error("%s: %lld: %s%s", what, (long long)o->remove,
			  err == -ENOENT ? "no such id; see gp-bpf " : store_why(err),
			  err != -ENOENT	  ? ""
			  : !strcmp(what, "mark") ? "mark --list"
						  : "exclude --list");
	store_close(st);
	return err ? EXIT_RUNTIME : EXIT_OK;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int mark_job(const struct options *o)
{
	struct store_job *job = malloc(sizeof(*job));
	struct store *st = NULL;
	int err = job ? history_open(&st, o, STORE_NOTE) : -ENOMEM, code = EXIT_RUNTIME;

	if (!err) {
		err = store_job(st, o->argv[0], job);
		err = err ? err : store_mark(st, job->id, clock_real_ns(), o->argv[1]);
		code = mark_exit_code(err, "mark");
	}
	store_close(st);
	free(job);
	return code;
}

static int cmd_mark_exclude_span(const struct options *o)
{
	int64_t now_ns = clock_real_ns(), from_ns, to_ns;
	struct store *st;
	int code;

	if (option_instant(o->argv[0], now_ns, &from_ns) ||
	    option_instant(o->argv[1], now_ns, &to_ns) || to_ns <= from_ns) {
		log_error(
			"exclude: '%s' to '%s' is not a time span: expected FROM before TO, each like "
			"2026-11-21T12:00:00Z, 2h (ago) or now",
			o->argv[0], o->argv[1]);
		return EXIT_USAGE;
	}
	if (history_open(&st, o, STORE_NOTE))
		return EXIT_RUNTIME;
	code = mark_exit_code(store_exclude(st, from_ns, to_ns, o->argv[2]), "exclude");
	store_close(st);
	return code;
}

/* Returns an error message about the combination of options; "": it is valid. */
static const char *mark_options_error(const struct options *o, bool marks)
{
	if (o->list && o->remove)
		return "--list and --remove cannot be combined";
	if (o->json && !o->list)
		return "--json needs --list";
	if (o->remove)
		return o->argc ? "--remove: unexpected argument: only an id is allowed; see --list"
			       : "";
	if (o->list && o->argc > marks)
		return marks ? "mark --list: more than one job"
			     : "exclude --list: unexpected argument";
	if (!o->list && (o->argc != (marks ? 2 : 3) || !*o->argv[o->argc - 1]))
		return marks ? "mark needs a job and a text: gp-bpf mark JOB 'TEXT'"
			     : "exclude needs two instants and a reason: gp-bpf exclude FROM TO 'WHY'";
	return "";
}

static int mark_or_exclude(bool marks, int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, marks ? CMD_MARK : CMD_EXCLUDE, argc, argv);

	if (code >= 0)
		return code;
	if (*mark_options_error(&o, marks)) {
		log_error("%s", mark_options_error(&o, marks));
		code = EXIT_USAGE;
	} else if (o.list) {
		code = marks_or_exclusions_list(&o, marks, o.argc ? o.argv[0] : NULL);
	} else if (o.remove) {
		code = cmd_mark_take_back(&o, marks ? "mark" : "exclude",
					  marks ? store_unmark : store_include);
	} else {
		code = marks ? mark_job(&o) : cmd_mark_exclude_span(&o);
	}
	options_free(&o);
	return code;
}

int cmd_mark(int argc, char **argv)
{
	return mark_or_exclude(true, argc, argv);
}

int cmd_exclude(int argc, char **argv)
{
	return mark_or_exclude(false, argc, argv);
}
