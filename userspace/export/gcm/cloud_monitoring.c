/* SPDX-License-Identifier: Apache-2.0 */
/* cloud_monitoring.c - the exporter of --export cloud-monitoring. On a thread of its own, it makes
 * series (gcm/) of each snapshot, labels them with the machine's identity (cloud/) and sends
 * them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/cloud/google.h"
#include "userspace/cloud/web.h"
#include "userspace/export/exporter.h"
#include "userspace/export/file/line_writer.h"
#include "userspace/export/export_worker.h"
#include "userspace/export/gcm/gcm_log.h"
#include "userspace/export/gcm/request.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/export/gcm/sender.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ll
/* Time between two writes to the service: the default (the goodput library's) and the minimum. */
#define INTERVAL_NS	  (30 * NS_PER_S)
#define INTERVAL_LEAST_NS (SENDER_SPACING_MS * (int64_t)NS_PER_MS)
#define INTERVAL_STAND_NS NS_PER_S	  /* minimum for a test server, which has no quota */
#define FLUSH_NS	  (10 * NS_PER_S) /* time limit of the last write, as in the goodput library */
#define PLACE_TRIES	  10		  /* attempts to reach the metadata server */

struct cloud_monitoring {
	struct export_options opt; /* copy; its texts belong to the caller */
	char project[64];	   /* project given in the exporter's argument; "": none */
	struct gcm_identity id;
	struct gcm_options rows;
	struct web *web;
	struct google *google;
	struct sender *sender;	 /* NULL: the project is not known yet, or nothing is sent */
	struct line_writer *dry; /* prints requests (--dry-run); NULL: requests are sent */
	unsigned place_tries;
	uint64_t unsent[SENDER_DROP_COUNT]; /* points dropped before the sender was opened */
	int64_t least_ns;		    /* shortest interval between two writes */
	int64_t written_ns;		    /* UTC, time of the last snapshot written; 0: none */
	char disk_queue[PATH_MAX];
	struct export_worker *worker;
};

static const char *cloud_own_prefix(const struct cloud_monitoring *m)
{
	return m->opt.prefix && !strcmp(m->opt.prefix, "workload") ? SERIES_WORK_PREFIX
								   : SERIES_OWN_PREFIX;
}

/* ---- identity -------------------------------------------------------------------------------- */

/* Copies text to a field of the identity, unless the field is already set. */
static void cloud_identity_set_once(char *to, size_t len, const char *text)
{
	if (!*to && text)
		snprintf(to, len, "%s", text);
}

static void cloud_identity_configured(struct cloud_monitoring *m)
{
	struct gcm_identity *id = &m->id;

	cloud_identity_set_once(id->project, sizeof(id->project), m->project);
	cloud_identity_set_once(id->project, sizeof(id->project), m->opt.project);
	cloud_identity_set_once(id->location, sizeof(id->location), m->opt.location);
	cloud_identity_set_once(id->cluster, sizeof(id->cluster), m->opt.cluster);
	cloud_identity_set_once(id->replica, sizeof(id->replica), m->opt.replica);
	cloud_identity_set_once(id->replica, sizeof(id->replica), "0");
	cloud_identity_set_once(id->accelerator, sizeof(id->accelerator), m->opt.accelerator);
	cloud_identity_set_once(id->node, sizeof(id->node), getenv("NODE_NAME"));
	if (!*id->node && gethostname(id->node, sizeof(id->node) - 1))
		id->node[0] = '\0';
}

/* Returns true if options gave the whole identity. Then no request is sent to the metadata server,
 * which a pod with a network policy may never reach. */
static bool cloud_identity_whole(const struct cloud_monitoring *m)
{
	const struct gcm_identity *id = &m->id;

	return *id->project && *id->location && *id->cluster && *id->node &&
	       (*id->accelerator || !m->rows.library);
}

/* Completes the identity from the metadata server. Returns -EAGAIN if the server does not answer
 * yet. With `last`, or after PLACE_TRIES calls, uses what is known and returns 0. */
static int cloud_identity_found(struct cloud_monitoring *m, bool last)
{
	struct google_place place = {0};
	struct gcm_identity *id = &m->id;
	struct buffer header = {0};
	char why[200];

	if (cloud_identity_whole(m))
		return 0;
	if (google_place(m->google, &place) == -EAGAIN && ++m->place_tries < PLACE_TRIES && !last)
		return -EAGAIN;
	if (!*id->project) /* reading the credentials also sets google_project() */
		google_token(m->google, &header, why, sizeof(why));
	buffer_free(&header);
	cloud_identity_set_once(id->project, sizeof(id->project), google_project(m->google));
	cloud_identity_set_once(id->project, sizeof(id->project), place.project);
	cloud_identity_set_once(id->location, sizeof(id->location), place.location);
	cloud_identity_set_once(id->cluster, sizeof(id->cluster), place.cluster);
	cloud_identity_set_once(id->instance_id, sizeof(id->instance_id), place.instance_id);
	if (*place.machine_type)
		cloud_identity_set_once(id->accelerator, sizeof(id->accelerator),
					google_accelerator(place.machine_type));
	return 0;
}

/* ---- a write --------------------------------------------------------------------------------- */

static void cloud_series_of(const struct cloud_monitoring *m, const struct snapshot *s,
			    struct series_set *ret)
{
	series_set_init(ret);
	gcm_own(ret, s, &m->id);
	if (m->rows.library)
		gcm_library(ret, s, &m->id, &m->rows);
}

static void monitoring_view(const struct cloud_monitoring *m, struct export_view *view)
{
	struct sender_stats is = {.up = false};

	_Static_assert((int)SENDER_DROP_COUNT < EXPORT_CAUSES, "room for each cause");
	if (m->sender)
		sender_stats(m->sender, &is);
	view->up = is.up;
	view->sent = is.written;
	view->waiting = is.queued;
	view->waiting_bytes = is.disk_queue_bytes;
	view->last_ns = is.last_ns;
	view->ndropped = SENDER_DROP_COUNT;
	for (uint32_t i = 0; i < SENDER_DROP_COUNT; i++) {
		view->dropped[i].cause = sender_drop_name[i];
		view->dropped[i].count = is.dropped[i] + m->unsent[i];
	}
	view->dropped[view->ndropped]
		.cause = "damaged"; /* unreadable parts of the queue on disk, each counted as 1 */
	view->dropped[view->ndropped++].count = is.damaged;
	if (m->sender) /* without a sender, cloud_sender_ready() has set the error */
		memcpy(view->trouble, is.trouble, sizeof(view->trouble));
}

static void cloud_monitoring_write_dry(struct cloud_monitoring *m, const struct series_set *set,
				       struct export_view *view)
{
	struct buffer path = {0}, body = {0};
	uint32_t at = 0, n;

	request_path(&path, m->id.project);
	while (!path.failed && request_next(set, cloud_own_prefix(m), NULL, &at, &body, NULL, &n)) {
		request_line(line_writer_buffer(m->dry), path.data, &body);
		line_writer_line(m->dry);
		view->sent += n;
		buffer_clear(&body);
	}
	line_writer_flush(m->dry);
	view->up = !path.failed && !body.failed;
	buffer_free(&path);
	buffer_free(&body);
}

/* Logs a warning if --gcm-workload-metrics was given, but the location is unknown. */
static void cloud_monitoring_report_no_place(const struct cloud_monitoring *m)
{
	if (m->rows.library && !*m->id.location)
		log_warn(
			"--gcm-workload-metrics: compute.googleapis.com/workload is not written: location unknown; use --gcm-location ZONE");
}

/* Sets the folder of the queue on disk. With several of these exporters, each has its own folder,
 * because their points belong to different projects. */
static void cloud_disk_queue_place(struct cloud_monitoring *m)
{
	const char *dir = m->opt.state_dir, *project = m->id.project;

	if (dir && !m->opt.several)
		snprintf(m->disk_queue, sizeof(m->disk_queue), "%s/cloud-monitoring", dir);
	else if (dir && gcm_project_valid(project))
		snprintf(m->disk_queue, sizeof(m->disk_queue), "%s/cloud-monitoring-%s", dir,
			 project);
}

/* Opens the sender when the identity is known. Returns false if points cannot be sent yet: view
 * receives the error, and *ret_cause the cause to count them under. */
static bool cloud_sender_ready(struct cloud_monitoring *m, bool last, struct export_view *view,
			       enum sender_drop *ret_cause)
{
	struct sender_options o = {
		.endpoint = m->opt.endpoint,
		.project = m->id.project,
		.prefix = cloud_own_prefix(m),
		.spacing_ms = (uint32_t)(m->least_ns / (int64_t)NS_PER_MS),
	};

	if (m->sender)
		return true;
	if (cloud_identity_found(m, last)) {
		snprintf(view->trouble, sizeof(view->trouble),
			 "the metadata server has not answered yet");
		*ret_cause = SENDER_DROP_superseded; /* later points will replace these */
		return false;
	}
	if (!*m->id.project) {
		if (!*view->trouble)
			log_error(
				"--export cloud-monitoring: no project: neither the credentials nor this machine's metadata name one; use --gcm-project ID");
		snprintf(view->trouble, sizeof(view->trouble), "no project; use --gcm-project ID");
		*ret_cause = SENDER_DROP_missing;
		return false;
	}
	*view->trouble = '\0';
	cloud_disk_queue_place(m);
	o.disk_queue = *m->disk_queue ? m->disk_queue : NULL;
	*ret_cause = SENDER_DROP_unkept;
	if (sender_open(&m->sender, &o, m->web, m->google))
		return false;
	cloud_monitoring_report_no_place(m);
	sender_begin(m->sender);
	return true;
}

static bool cloud_work(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		       struct export_view *view)
{
	struct cloud_monitoring *m = ctx;
	enum sender_drop cause;
	struct series_set set;
	bool ready;

	if (!last && s->real_ns - m->written_ns < m->least_ns && s->real_ns >= m->written_ns)
		return false;
	ready = m->dry || cloud_sender_ready(m, last, view, &cause);
	m->written_ns = s->real_ns;
	cloud_series_of(m, s, &set);
	if (!ready) {
		m->unsent[cause] += set.count + set.unkept;
		monitoring_view(m, view);
	} else if (m->dry) {
		cloud_monitoring_write_dry(m, &set, view);
	} else {
		sender_send(m->sender, &set, s->real_ns, deadline_ns / NS_PER_MS, last);
		monitoring_view(m, view);
	}
	series_set_free(&set);
	return true;
}

static bool cloud_idle(void *ctx, uint64_t until_ns, struct export_view *view)
{
	struct cloud_monitoring *m = ctx;
	bool more;

	if (!m->sender)
		return false;
	more = sender_wait(m->sender, until_ns / NS_PER_MS);
	monitoring_view(m, view);
	return more;
}

static void cloud_cancel(void *ctx)
{
	struct cloud_monitoring *m = ctx;

	if (m->web)
		web_cancel(m->web);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

static void cloud_free(struct cloud_monitoring *m)
{
	if (!m)
		return;
	sender_close(m->sender);
	google_close(m->google);
	web_close(m->web);
	if (m->dry)
		line_writer_close(m->dry);
	free(m);
}

static int cloud_argument(struct cloud_monitoring *m, const char *arg)
{
	if (!arg || !*arg)
		return 0;
	if (strncmp(arg, "project=", 8) != 0 || strlen(arg + 8) >= sizeof(m->project)) {
		log_error("--export cloud-monitoring:%s: expected project=ID", arg);
		return -EINVAL;
	}
	snprintf(m->project, sizeof(m->project), "%s", arg + 8);
	return 0;
}

/* Sets the least interval, and checks --gcm-interval against it: 5 s for the service, 1 s for a
 * test server on this machine. */
static int cloud_interval(struct cloud_monitoring *m)
{
	bool stand_in = m->opt.endpoint && !strncmp(m->opt.endpoint, "http:", 5);
	int64_t set_ns = m->opt.interval_ns;

	m->least_ns = INTERVAL_LEAST_NS;
	if (!set_ns || set_ns >= INTERVAL_LEAST_NS)
		return 0;
	if (!stand_in || set_ns < INTERVAL_STAND_NS) {
		log_error(
			"--gcm-interval: shorter than 5 s, the least that the service accepts between points");
		return -EINVAL;
	}
	m->least_ns = set_ns;
	return 0;
}

static int cloud_settings(struct cloud_monitoring *m, const char *arg)
{
	const struct export_options *o = &m->opt;
	int err = cloud_argument(m, arg);

	if (err)
		return err;
	if (o->endpoint && strncmp(o->endpoint, "https://", 8) != 0 &&
	    (strncmp(o->endpoint, "http://", 7) != 0 || !web_is_loopback(o->endpoint))) {
		log_error(
			"--gcm-endpoint %.*s: expected https://HOST (http:// only to this machine, because the token is sent there)",
			(int)web_public_len(o->endpoint), o->endpoint);
		return -EINVAL;
	}
	err = cloud_interval(m);
	if (err)
		return err;
	m->rows.library = o->workload_metrics;
	if (o->rolling && gcm_rolling_read(o->rolling, &m->rows)) {
		log_error("--rolling %s: expected different numbers of seconds, like 86400,3600",
			  o->rolling);
		return -EINVAL;
	}
	cloud_identity_configured(m);
	if (*m->id.project && !gcm_project_valid(m->id.project)) {
		log_error("--gcm-project %s: not a project id or number", m->id.project);
		return -EINVAL;
	}
	return 0;
}

static int cloud_check(const char *arg, const struct export_options *opt)
{
	struct cloud_monitoring m = {.opt = *opt};

	return cloud_settings(&m, arg);
}

static int cloud_backend(struct cloud_monitoring *m)
{
	int err;

	if (m->opt.dry_run) {
		if (!*m->id.project) {
			log_error("--dry-run: project unknown; use --gcm-project ID");
			return -EINVAL;
		}
		cloud_monitoring_report_no_place(m);
		return line_writer_open(&m->dry, "-",
					&(struct line_writer_config){.blocking = true});
	}
	err = web_open(&m->web);
	return err ? err : google_open(&m->google, m->web);
}

static int cloud_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct cloud_monitoring *m = calloc(1, sizeof(*m));
	struct export_worker_job job = {
		.name = export_cloud_monitoring.name, .ctx = m, .flush_ns = FLUSH_NS};
	int err;

	if (!m)
		return -ENOMEM;
	m->opt = *opt;
	err = cloud_settings(m, arg);
	if (!err)
		err = cloud_backend(m);
	job.interval_ns = (uint64_t)(opt->interval_ns ? opt->interval_ns : INTERVAL_NS);
	job.work = cloud_work;
	job.idle = cloud_idle;
	job.cancel = cloud_cancel;
	if (!err)
		err = export_worker_open(&m->worker, &job);
	if (err) {
		cloud_free(m);
		return err;
	}
	*ret_state = m;
	return 0;
}

static void cloud_snapshot(void *state, struct snapshot *s)
{
	export_worker_snapshot(((struct cloud_monitoring *)state)->worker, s);
}

static void cloud_view(void *state, struct export_view *ret)
{
	export_worker_view(((struct cloud_monitoring *)state)->worker, ret);
}

static void cloud_end(void *state, bool soon)
{
	export_worker_end(((struct cloud_monitoring *)state)->worker, soon);
}

/* Returns 0 even if sending failed: failures were logged when they happened, and points queued on
 * disk are not lost. */
static int cloud_close(void *state)
{
	struct cloud_monitoring *m = state;
	struct export_view view;

	export_worker_close(m->worker, &view);
	if (*view.trouble)
		log_warn("--export cloud-monitoring: last write failed: %s", view.trouble);
	cloud_free(m);
	return 0;
}

const struct exporter export_cloud_monitoring = {
	.name = "cloud-monitoring",
	.help = "Google Cloud Monitoring; project=ID",
	.spec = {"cloud-monitoring"},
	.usage = {[EXPORT_EVENTS] = "cloud-monitoring[:project=ID]",
		  [EXPORT_LOG] = "cloud-monitoring[:project=ID] with --dry-run"},
	.prints = true,
	.of_options = (const char *const[]){"gcm-project", "gcm-location", "gcm-cluster",
					    "gcm-accelerator", "gcm-replica",
					    "gcm-workload-metrics", "gcm-prefix", "gcm-interval",
					    "gcm-endpoint", "rolling", "dry-run", NULL},
	.check = cloud_check,
	.open = cloud_open,
	.snapshot = cloud_snapshot,
	.view = cloud_view,
	.end = cloud_end,
	.close = cloud_close,
	.log_check = gcm_log_check,
	.log_write = gcm_log_write,
};
