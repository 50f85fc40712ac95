/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/gcm_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/gcm/request.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

#define PROJECT "project="

/* Logs one error that names all missing options. Returns 0 if none is missing. */
static int gcm_log_missing(const struct export_options *o, const struct export_log *log,
			   const char *project)
{
	const struct goodput_query *q = log->query;

	const struct {
		bool there;
		const char *what;
	} needs[] = {
		{o->nspecs, "--export cloud-monitoring[:project=ID]"},
		{o->workload_metrics, "--gcm-workload-metrics"},
		{q->semantics == GOODPUT_LIBRARY, "--semantics library"},
		{q->now_us != GOODPUT_UNKNOWN || log->clock,
		 "--now TIME (the instant of the points)"},
		{o->location && *o->location, "--gcm-location ZONE (where the job ran)"},
		{project && *project, "--gcm-project ID"},
	};
	struct buffer missing = {0};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needs[i].there)
			buffer_printf(&missing, "%s%s", missing.len ? ", " : "", needs[i].what);
	}
	if (!missing.len && !missing.failed)
		return 0;
	log_error("account --dry-run (print requests to Cloud Monitoring): missing %s",
		  missing.failed ? "memory" : missing.data);
	buffer_free(&missing);
	return -EINVAL;
}

static int gcm_log_text(const char *option, const char *text, char *out, size_t len)
{
	if (!text || strlen(text) < len) {
		snprintf(out, len, "%s", text ? text : "");
		return 0;
	}
	log_error("--%s: value longer than %zu bytes", option, len - 1);
	return -EINVAL;
}

static int gcm_log_identity(struct gcm_identity *id, const struct export_options *o,
			    const char *project)
{
	int err = gcm_log_text("gcm-location", o->location, id->location, sizeof(id->location));

	if (!err)
		err = gcm_log_text("gcm-cluster", o->cluster, id->cluster, sizeof(id->cluster));
	if (!err)
		err = gcm_log_text("gcm-accelerator", o->accelerator, id->accelerator,
				   sizeof(id->accelerator));
	if (!err)
		err = gcm_log_text("gcm-replica", o->replica, id->replica, sizeof(id->replica));
	if (err)
		return err;
	if (!gcm_project_valid(project)) {
		log_error("cloud-monitoring: '%s' is not a project id or number", project);
		return -EINVAL;
	}
	return gcm_log_text("gcm-project", project, id->project, sizeof(id->project));
}

static const char *gcm_log_project(const char *arg, const struct export_options *o)
{
	return arg ? arg + strlen(PROJECT) : o->project;
}

/* Reads the options into the identity and the lengths of windows. */
static int gcm_log_read(const char *arg, const struct export_options *o, struct gcm_identity *id,
			struct gcm_options *windows)
{
	int err = gcm_log_identity(id, o, gcm_log_project(arg, o));

	if (err || !o->rolling || !gcm_rolling_read(o->rolling, windows))
		return err;
	log_error(
		"--rolling: '%s' is not a list of up to %d different numbers of seconds, like 86400,3600",
		o->rolling, GCM_ROLLING_MAX);
	return -EINVAL;
}

/* Sets the time of the query, and the rolling windows that end at this time. */
static int gcm_log_query(struct export_log *log, const struct gcm_options *lengths)
{
	struct goodput_span *windows = calloc(GCM_ROLLING_MAX, sizeof(*windows));
	struct goodput_query *q = log->query;
	size_t n = 0;

	if (!windows)
		return -ENOMEM;
	if (log->clock)
		q->now_us = clock_real_ns() / 1000;
	log->clock = false;
	for (; n < GCM_ROLLING_MAX && lengths->rolling_s[n]; n++)
		windows[n] = (struct goodput_span){q->now_us - lengths->rolling_s[n] * 1000000,
						   q->now_us};
	q->windows = windows;
	q->window_count = n;
	return 0;
}

int gcm_log_check(const char *arg, const struct export_options *opt, struct export_log *log)
{
	struct gcm_options windows = {0};
	struct gcm_identity id = {0};
	const char *why = NULL;
	int err;

	if (arg && strncmp(arg, PROJECT, strlen(PROJECT)) != 0)
		why = "--export cloud-monitoring: unknown argument; expected project=ID";
	else if (!opt->dry_run)
		why = "account --export cloud-monitoring only prints requests; add --dry-run";
	else if (gcm_log_missing(opt, log, gcm_log_project(arg, opt)))
		return -EINVAL;
	else if (log->follow || log->combined)
		why = "account --dry-run cannot be used with --follow, --json, --store, --window, --exclude or --at; use --rolling for windows";
	if (why) {
		log_error("%s", why);
		return -EINVAL;
	}
	err = gcm_log_read(arg, opt, &id, &windows);
	return err ? err : gcm_log_query(log, &windows);
}

static int gcm_log_fill(const struct export_log *log, const struct gcm_identity *id,
			const struct gcm_options *windows, struct series_set *set)
{
	int err = 0;

	for (size_t i = 0; !err && i < log->jobs; i++) {
		struct goodput_answer answer = {0};
		const struct goodput_names *names;

		err = log->answer(log->ctx, i, &answer, &names);
		if (err)
			continue;
		gcm_library_answer(set, &answer, names, id, windows);
		if (answer.cumulative.error)
			log_warn(
				"job %s: not printed: ml-goodput-measurement would raise an error: %s: %s",
				goodput_name(names, answer.job), answer.cumulative.error_type,
				answer.cumulative.error);
		goodput_answer_free(&answer);
	}
	return err;
}

int gcm_log_write(const char *arg, const struct export_options *opt, const struct export_log *log)
{
	struct buffer path = {0}, body = {0}, line = {0};
	struct gcm_options windows = {0};
	struct gcm_identity id = {0};
	uint32_t at = 0, n;
	struct series_set set;
	int err = gcm_log_read(arg, opt, &id, &windows);

	if (err)
		return err;
	series_set_init(&set);
	err = gcm_log_fill(log, &id, &windows, &set);
	request_path(&path, id.project);
	while (!err && !path.failed &&
	       request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n)) {
		buffer_clear(&line);
		request_line(&line, path.data, &body);
		err = line.failed ? -ENOMEM : 0;
		if (!err)
			fwrite(line.data, 1, line.len, stdout);
	}
	if (!err && (path.failed || body.failed))
		err = -ENOMEM;
	if (!err && set.unkept)
		log_warn("%llu series not printed: duplicates, or more than %d series",
			 (unsigned long long)set.unkept, SERIES_SET_MAX);
	series_set_free(&set);
	buffer_free(&path);
	buffer_free(&body);
	buffer_free(&line);
	return err;
}
