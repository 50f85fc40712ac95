/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/account_export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/command/account_tensorboard.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/gcm/request.h"
#include "userspace/ingest/goodput_record.h"

#define NAME	"cloud-monitoring"
#define PROJECT ":project="

static int account_export_refuse(const char *why)
{
	log_error("%s", why);
	return -EINVAL;
}

/* Names all missing options in one line. */
static int export_whole(const struct options *o, const struct goodput_query *q, bool clock,
			const char *project)
{
	const struct {
		bool there;
		const char *what;
	} needs[] = {
		{o->exports.count, "--export cloud-monitoring[:project=ID]"},
		{o->gcm_workload_metrics, "--gcm-workload-metrics"},
		{q->semantics == GOODPUT_LIBRARY, "--semantics library"},
		{q->now_us != GOODPUT_UNKNOWN || clock, "--now TIME (the instant of the points)"},
		{o->gcm_location && *o->gcm_location, "--gcm-location ZONE (where the job ran)"},
		{project && *project, "--gcm-project ID"},
	};
	struct buffer missing = {0};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needs[i].there)
			buffer_printf(&missing, "%s%s", missing.len ? ", " : "", needs[i].what);
	}
	if (!missing.len && !missing.failed)
		return 0;
	log_error(
		"account --dry-run prints the goodput library's series as requests to Cloud Monitoring, and needs also %s",
		missing.failed ? "memory" : missing.data);
	buffer_free(&missing);
	return -EINVAL;
}

/* Refuses options that do not fit this export. */
static int export_fits(const struct options *o)
{
	if (o->follow || o->json || o->spans.count || o->excludes.count || o->ats.count ||
	    (o->store && strcmp(o->store, "none") != 0))
		return account_export_refuse(
			"account --dry-run goes without --follow, --json, --store, --window, --exclude and --at; --rolling gives windows");
	return 0;
}

static int account_export_text(const char *option, const char *text, char *out, size_t len)
{
	if (!text || strlen(text) < len) {
		snprintf(out, len, "%s", text ? text : "");
		return 0;
	}
	log_error("--%s: longer than %zu bytes", option, len - 1);
	return -EINVAL;
}

static int account_export_identity(struct gcm_identity *id, const struct options *o,
				   const char *project)
{
	int err = account_export_text("gcm-location", o->gcm_location, id->location,
				      sizeof(id->location));

	if (!err)
		err = account_export_text("gcm-cluster", o->gcm_cluster, id->cluster,
					  sizeof(id->cluster));
	if (!err)
		err = account_export_text("gcm-accelerator", o->gcm_accelerator, id->accelerator,
					  sizeof(id->accelerator));
	if (!err)
		err = account_export_text("gcm-replica", o->gcm_replica, id->replica,
					  sizeof(id->replica));
	if (err)
		return err;
	if (!gcm_project_valid(project)) {
		log_error("'%s' is neither the id nor the number of a project", project);
		return -EINVAL;
	}
	return account_export_text("gcm-project", project, id->project, sizeof(id->project));
}

static int account_export_windows_put(const struct account_export *x, struct goodput_query *q)
{
	struct goodput_span *windows = calloc(GCM_ROLLING_MAX, sizeof(*windows));
	size_t n = 0;

	if (!windows)
		return -ENOMEM;
	for (; n < GCM_ROLLING_MAX && x->options.rolling_s[n]; n++)
		windows[n] = (struct goodput_span){q->now_us - x->options.rolling_s[n] * 1000000,
						   q->now_us};
	q->windows = windows;
	q->window_count = n;
	return 0;
}

int account_export_read(struct account_export *x, const struct options *o, struct goodput_query *q,
			bool *clock)
{
	const char *project = o->gcm_project, *given;
	int err;

	*x = (struct account_export){0};
	err = account_tensorboard_read(o, &x->board);
	if (err || x->board || (!o->exports.count && !o->dry_run))
		return err;
	if (!o->exports.count)
		return export_whole(o, q, *clock, project);
	if (o->exports.count != 1 || strncmp(o->exports.item[0], NAME, strlen(NAME)) != 0)
		return account_export_refuse(
			"account has one --export: tensorboard:DIR, or cloud-monitoring[:project=ID] and with it --dry-run");
	given = o->exports.item[0] + strlen(NAME);
	if (!strncmp(given, PROJECT, strlen(PROJECT)))
		project = given + strlen(PROJECT);
	else if (*given)
		return account_export_refuse("--export cloud-monitoring takes project=ID alone");
	if (!o->dry_run)
		return account_export_refuse(
			"account writes nothing to Cloud Monitoring: points of a log would stand beside those of the library that wrote it, and be too old; --dry-run prints them");
	err = export_whole(o, q, *clock, project);
	if (!err)
		err = export_fits(o);
	if (!err)
		err = account_export_identity(&x->id, o, project);
	if (!err && o->rolling && gcm_rolling_read(o->rolling, &x->options)) {
		log_error(
			"--rolling: '%s' is not a list of up to %d different numbers of seconds, like 86400,3600",
			o->rolling, GCM_ROLLING_MAX);
		err = -EINVAL;
	}
	if (err)
		return err;
	if (*clock)
		q->now_us = clock_real_ns() / 1000;
	*clock = false;
	x->wanted = true;
	return account_export_windows_put(x, q);
}

static int account_export_set_fill(const struct account_export *x, struct account *a,
				   struct series_set *set)
{
	int err = 0;

	for (size_t i = 0; !err && i < account_jobs(a); i++) {
		struct goodput_answer answer = {0};
		struct account_view view;

		err = account_answer(a, i, &answer, &view);
		if (err)
			continue;
		gcm_library_answer(set, &answer, view.names, &x->id, &x->options);
		if (answer.cumulative.error)
			log_warn("job %s: the library gives no answer here: %s: %s",
				 goodput_name(view.names, answer.job), answer.cumulative.error_type,
				 answer.cumulative.error);
		goodput_answer_free(&answer);
	}
	return err;
}

int account_export_print(const struct account_export *x, struct account *a)
{
	struct buffer path = {0}, body = {0}, line = {0};
	uint32_t at = 0, n;
	struct series_set set;
	int err;

	series_set_init(&set);
	err = account_export_set_fill(x, a, &set);
	request_path(&path, x->id.project);
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
		log_warn("%llu series are not printed: more than %d, or two of one name",
			 (unsigned long long)set.unkept, SERIES_SET_MAX);
	series_set_free(&set);
	buffer_free(&path);
	buffer_free(&body);
	buffer_free(&line);
	return err;
}
