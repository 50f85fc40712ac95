/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf mark and gp-bpf exclude: what people add to a store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/command.h"
#include "userspace/history.h"
#include "userspace/store/query.h"

static int told(int err, const char *what)
{
	if (!err)
		return EXIT_OK;
	log_error("%s: %s", what, err == -ENOENT ? "no such job; see gp-bpf jobs" : store_why(err));
	return EXIT_RUNTIME;
}

static int mark(const struct options *o)
{
	struct store_job *job = malloc(sizeof(*job));
	struct store *st = NULL;
	int err = job ? history_open(&st, o, STORE_NOTE) : -ENOMEM, code = EXIT_RUNTIME;

	if (!err) {
		err = store_job(st, o->argv[0], job);
		err = err ? err : store_mark(st, job->id, clock_real_ns(), o->argv[1]);
		code = told(err, "mark");
	}
	store_close(st);
	free(job);
	return code;
}

static int exclude(const struct options *o)
{
	int64_t now_ns = clock_real_ns(), from_ns, to_ns;
	struct store *st;
	int code;

	if (history_instant(o->argv[0], now_ns, &from_ns) || history_instant(o->argv[1], now_ns, &to_ns) ||
	    to_ns <= from_ns) {
		log_error("exclude: '%s' to '%s' is no time: FROM is before TO, each like "
			  "2026-11-21T12:00:00Z, 2h "
			  "(ago) or now",
			  o->argv[0], o->argv[1]);
		return EXIT_USAGE;
	}
	if (history_open(&st, o, STORE_NOTE))
		return EXIT_RUNTIME;
	code = told(store_exclude(st, from_ns, to_ns, o->argv[2]), "exclude");
	store_close(st);
	return code;
}

static int parsed(unsigned bit, int args, const char *usage, int argc, char **argv,
		  int (*go)(const struct options *o))
{
	struct options o;
	int code = options_parse(&o, bit, argc, argv);

	if (code >= 0)
		return code;
	if (o.argc != args) {
		log_error("%s", usage);
		code = EXIT_USAGE;
	} else {
		code = go(&o);
	}
	options_free(&o);
	return code;
}

int cmd_mark(int argc, char **argv)
{
	return parsed(CMD_MARK, 2, "mark needs a job and a text, behind the options: gp-bpf mark JOB TEXT",
		      argc, argv, mark);
}

int cmd_exclude(int argc, char **argv)
{
	return parsed(
		CMD_EXCLUDE, 3,
		"exclude needs two instants and a reason, behind the options: gp-bpf exclude FROM TO WHY",
		argc, argv, exclude);
}
