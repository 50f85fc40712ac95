/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf report: reports a job of a store, with all its runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/command/cmd_report.h"
#include "userspace/command/command.h"
#include "userspace/export/export.h"
#include "userspace/output/history.h"
#include "userspace/output/page.h"
#include "userspace/store/query.h"
#include "userspace/store/accelerator_time.h"
#include "userspace/report/compare.h"
#include "userspace/report/explain.h"
#include "userspace/report/html.h"
#include "userspace/report/document.h"

#define SAME_TIME_NS STORE_MINUTE_NS

static int cmd_report_bad_time(const char *option, const char *text)
{
	log_error(
		"--%s: '%s' is not a time: expected one like 2026-11-21T12:00:00Z, epoch seconds, 2h (ago) or now",
		option, text);
	return -EINVAL;
}

/* Widens the span to whole minutes, the resolution of the store, so that all figures cover the same
 * time. */
static void cmd_report_whole_minutes(struct store_span *span)
{
	int64_t over_ns = span->to_ns % STORE_MINUTE_NS;

	if (span->from_ns > 0)
		span->from_ns -= span->from_ns % STORE_MINUTE_NS;
	if (over_ns > 0 && span->to_ns < INT64_MAX - STORE_MINUTE_NS)
		span->to_ns += STORE_MINUTE_NS - over_ns;
}

static int cmd_report_span_of(const struct options *o, int64_t now_ns, struct store_span *ret)
{
	struct store_span span = {0};

	if (o->since && option_instant(o->since, now_ns, &span.from_ns))
		return cmd_report_bad_time("since", o->since);
	if (o->until && option_instant(o->until, now_ns, &span.to_ns))
		return cmd_report_bad_time("until", o->until);
	if (o->until && span.to_ns <= span.from_ns) {
		log_error("--until: %s is not later than --since", o->until);
		return -EINVAL;
	}
	cmd_report_whole_minutes(&span);
	*ret = span;
	return 0;
}

/* Excludes a time span in this report only. item: "FROM,TO". */
static int cmd_report_exclude(struct store *st, const char *item, int64_t now_ns)
{
	const char *comma = strchr(item, ',');
	char *from = comma ? strndup(item, (size_t)(comma - item)) : NULL;
	int64_t from_ns, to_ns;
	int err = -EINVAL;

	if (comma && !from)
		return -ENOMEM;
	if (!comma || option_instant(from, now_ns, &from_ns) ||
	    option_instant(comma + 1, now_ns, &to_ns) || to_ns <= from_ns)
		log_error(
			"--exclude: '%s' is not a time span: expected FROM,TO, each like 2026-11-21T12:00:00Z, epoch seconds, 2h (ago) or now",
			item);
	else
		err = store_exclude_here(st, from_ns, to_ns, "--exclude");
	free(from);
	return err;
}

/* ---- which job ------------------------------------------------------------------------------- */

struct newest {
	struct store_job job;
	uint32_t beside; /* number of other jobs that were last seen within SAME_TIME_NS of `job` */
	struct buffer names;
	bool any;
};

static int cmd_report_newest(void *ctx, const struct store_job *j)
{
	struct newest *n = ctx;

	if (!n->any)
		n->job = *j;
	else if (n->job.last_ns - j->last_ns > SAME_TIME_NS || j->last_ns < n->job.first_ns)
		return 1; /* Jobs are listed by time, so this and all following ones were last seen
			     earlier: stop. */
	else
		n->beside++;
	n->any = true;
	buffer_printf(&n->names, "%4lld  %s\n", (long long)j->id, *j->name ? j->name : j->key);
	return 0;
}

static int cmd_report_newest_job(struct store *st, const struct store_span *span,
				 struct store_job *ret)
{
	struct newest *n = calloc(1, sizeof(*n));
	int err = n ? store_jobs(st, span, cmd_report_newest, n) : -ENOMEM;

	if (err >= 0 && n->names.failed)
		err = -ENOMEM;
	if (err < 0) {
		log_error("store %s: cannot list its jobs: %s", store_path(st), store_why(err));
	} else if (!n->any) {
		log_error("%s: the store has no jobs%s", store_path(st),
			  span->from_ns || span->to_ns ? " in this time span" : " yet");
		err = -ENOENT;
	} else if (n->beside) {
		log_error(
			"report: %u jobs ran last at the same time; name one of them, or give its number:",
			n->beside + 1);
		fwrite(n->names.data, 1, n->names.len, stdout);
		err = -ENOENT;
	} else {
		*ret = n->job;
		err = 0;
	}
	if (n)
		buffer_free(&n->names);
	free(n);
	return err;
}

static int cmd_report_choose(struct store *st, const struct options *o,
			     const struct store_span *span, struct store_job *ret)
{
	int err;

	if (!o->argc)
		return cmd_report_newest_job(st, span, ret);
	err = store_job(st, o->argv[0], ret);
	if (err)
		log_error("report: %s",
			  err == -ENOENT ? "no such job; see gp-bpf jobs" : store_why(err));
	return err;
}

/* ---- the report ------------------------------------------------------------------------------ */

static int cmd_report_show(const struct options *o, const struct report_document *s)
{
	struct buffer out = {0};
	int err = o->html ? page_put(o->html, s) : 0;

	if (o->explain && o->json)
		explain_document_json(&out, s);
	else if (o->explain)
		explain_document_text(&out, s, tty_cols(STDOUT_FILENO), tty_color(STDOUT_FILENO));
	else if (o->json)
		document_json(&out, s);
	else if (!o->html && !o->exports.count)
		document_text(&out, s, tty_cols(STDOUT_FILENO), tty_color(STDOUT_FILENO));
	if (!err && out.failed) {
		err = -ENOMEM;
		log_error("report: %s", strerror(-err));
	}
	if (!err && out.len)
		fwrite(out.data, 1, out.len, stdout);
	buffer_free(&out);
	return err;
}

/* Compares the job's last run with other runs, and adds a sentence about the result to the HTML
 * page. */
static int cmd_report_compare(struct store *st, const struct options *o, struct report_document *s)
{
	int err;

	if (!o->compare)
		return 0;
	s->compared = calloc(1, sizeof(*s->compared));
	err = s->compared ? store_compare(st, s->job.id, o->compare, s->compared) : -ENOMEM;
	if (err == -ENOENT)
		log_error(
			"--compare %s: no run with this perf tag and no job of this name; see gp-bpf jobs",
			o->compare);
	else if (err)
		log_error("store %s: cannot list its jobs: %s", store_path(st), store_why(err));
	else if (o->html && s->ncaveats < DOCUMENT_CAVEATS)
		compare_sentence(s->caveats[s->ncaveats++], sizeof(s->caveats[0]), s->compared);
	return err;
}

/* Checks --max-regression. Returns 0; -ERANGE: the run is slower than allowed; -ENODATA after
 * logging one line: there is no run to compare with. */
static int cmd_report_regression(const struct options *o, const struct report_document *s)
{
	const struct compare_answer *a = s->compared ? &s->compared->answer : NULL;
	double least = 1 + (double)o->max_regression_ppm / 1e6;

	if (!o->max_regression_ppm)
		return 0;
	if (!a || !s->compared->known) {
		log_error(
			"--max-regression: the run cannot be compared with %s: the report says why",
			o->compare);
		return -ENODATA;
	}
	return a->verdict == COMPARE_SLOWER && a->ratio > least ? -ERANGE : 0;
}

static int cmd_report_cost(struct store *st, const struct options *o, struct report_document *s)
{
	int err;

	s->program.accelerators = (uint32_t)o->accelerators;
	if (o->price)
		option_price(o->price, s->program.currency, &s->program.price);
	err = store_accelerator_time(st, &s->job, &s->span, &s->totals.sums,
				     s->program.accelerators, s->accelerator_ns);
	if (err)
		log_error("store %s: cannot read the job's accelerator time: %s", store_path(st),
			  store_why(err));
	return err;
}

/* Adds the windows of --window-length. options_parse() has checked their number and syntax. */
static int cmd_report_windows(struct store *st, const struct options *o, struct report_document *s)
{
	uint64_t length_ns[WINDOWS_MAX] = {0};
	int64_t ns;
	int err;

	for (int i = 0; i < o->windows.count && i < WINDOWS_MAX; i++)
		if (!option_duration(o->windows.item[i], &ns))
			length_ns[i] = (uint64_t)ns;
	err = document_windows(s, st, o->windows.count ? length_ns : window_usual_ns);
	if (err)
		log_error("store %s: cannot list its jobs: %s", store_path(st), store_why(err));
	return err;
}

static int cmd_report_export_check(const struct options *o)
{
	int err = 0;

	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_store_check(o->exports.item[i]);
	return err;
}

static int cmd_report_export(struct store *st, const struct options *o,
			     const struct report_document *s)
{
	int err = 0;

	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_store_write(o->exports.item[i], st, &s->job, &s->span);
	return err;
}

static int cmd_report_job(struct store *st, const struct options *o, const struct store_span *span,
			  int64_t now_ns)
{
	struct store_job *job = malloc(sizeof(*job));
	struct report_document *s = NULL;
	int err = job ? cmd_report_choose(st, o, span, job) : -ENOMEM;

	if (!err) {
		err = document_of_store(&s, st, job, span, NULL);
		if (err)
			log_error("store %s: cannot list its jobs: %s", store_path(st),
				  store_why(err));
		else
			s->now_ns = now_ns;
	}
	err = err ? err : cmd_report_windows(st, o, s);
	err = err ? err : cmd_report_cost(st, o, s);
	err = err ? err : cmd_report_compare(st, o, s);
	err = err ? err : cmd_report_export(st, o, s);
	err = err ? err : cmd_report_show(o, s);
	err = err ? err : cmd_report_regression(o, s);
	document_close(s);
	free(job);
	return err;
}

int cmd_report_run(const struct options *o)
{
	int64_t now_ns = clock_real_ns();
	struct store_span span;
	struct store *st;
	int err;

	if (cmd_report_export_check(o) || cmd_report_span_of(o, now_ns, &span))
		return EXIT_USAGE;
	if (history_open(&st, o, STORE_READ))
		return EXIT_RUNTIME;
	err = 0;
	for (int i = 0; !err && i < o->excludes.count; i++)
		err = cmd_report_exclude(st, o->excludes.item[i], now_ns);
	if (err == -EINVAL) {
		store_close(st);
		return EXIT_USAGE;
	}
	if (err)
		log_error("store %s: cannot list its jobs: %s", store_path(st), store_why(err));
	err = err ? err : cmd_report_job(st, o, &span, now_ns);
	store_close(st);
	return err == -ERANGE ? EXIT_SLOWER : err ? EXIT_RUNTIME : EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, CMD_REPORT, argc, argv);

	if (code >= 0)
		return code;
	if (o.argc > 1) {
		log_error("report: more than one job: gp-bpf report [options] [JOB]");
		code = EXIT_USAGE;
	} else if (o.max_regression_ppm && !o.compare) {
		log_error("--max-regression needs --compare TAG or --compare JOB");
		code = EXIT_USAGE;
	} else {
		code = cmd_report_run(&o);
	}
	options_free(&o);
	return code;
}
