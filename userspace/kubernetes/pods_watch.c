/* SPDX-License-Identifier: Apache-2.0 */
/* pods_watch.c - follows pods or nodes by "list and watch" of the API server: a list has a version,
 * and a watch reports all changes since a version. When a watch ends, the next one begins at the
 * version of its last event or bookmark. If the server no longer knows that version (410, as an
 * HTTP status or as an event), a new list is requested. The first list may come from the server's
 * cache, to reduce its load when a thousand nodes start. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/kubernetes/pods_private.h"

#define WATCH_PAGES 64 /* limit of the pages of a list that are read */
/* seconds; a watch that ends earlier without an event counts as a failure */
#define WATCH_BRIEF_S 1.0

/* A kind of object that is followed: pods or nodes. */
struct watch_kind {
	const char *path, *field, *what, *rule;
	bool pods; /* a list has all pods of the node, so known pods that it lacks were deleted */
	void (*put)(struct pods *p, const cJSON *object, bool gone);
};

struct watch {
	const struct watch_kind *kind;
	struct pods_worker *w;
	struct pods_stream stream;
	char version[PODS_VERSION_MAX], next[PODS_TOKEN_MAX];
	bool again; /* read a new list before the next watch */
	/* A list was read before. The next one must be newer, so it must not come from the server's
	 * cache. */
	bool listed;
	/* Request a list without pages, because pages expired while they were read. */
	bool whole;
	bool gone, wrong; /* the stream reported 410 (gone), or another error (wrong) */
	char error[120];
	struct backoff backoff; /* failures in a row */
	int64_t asked_ms;	/* how long the server asks to wait before the next attempt, ms */
};

/* ---- replies */

static void watch_version(struct watch *x, const cJSON *meta)
{
	const char *text = cJSON_GetStringValue(pods_object(meta, "resourceVersion"));

	if (text && *text && strlen(text) < sizeof(x->version))
		memcpy(x->version, text, strlen(text) + 1);
}

static bool watch_item(void *ctx, char *text, size_t len)
{
	struct watch *x = ctx;
	cJSON *json = cJSON_ParseWithLength(text, len);

	if (json)
		x->kind->put(x->w->pods, json, false);
	cJSON_Delete(json);
	return !pods_stops(x->w->pods);
}

static bool watch_meta(void *ctx, char *text, size_t len)
{
	struct watch *x = ctx;
	cJSON *json = cJSON_ParseWithLength(text, len);
	const char *next = cJSON_GetStringValue(pods_object(json, "continue"));

	watch_version(x, json);
	x->next[0] = '\0';
	if (next && strlen(next) < sizeof(x->next))
		memcpy(x->next, next, strlen(next) + 1);
	cJSON_Delete(json);
	return true;
}

static bool watch_wrong(struct watch *x, const cJSON *object)
{
	if (object && pods_number(object, "code") == 410) {
		x->gone = true;
		return false;
	}
	x->wrong = true;
	pods_text(object, "message", x->error, sizeof(x->error));
	if (!x->error[0])
		snprintf(x->error, sizeof(x->error), "an unexpected line instead of an event");
	return false;
}

static bool watch_event(void *ctx, char *text, size_t len)
{
	struct watch *x = ctx;
	cJSON *json = cJSON_ParseWithLength(text, len);
	const cJSON *object = pods_object(json, "object");
	const char *type = cJSON_GetStringValue(pods_object(json, "type"));
	bool go_on = true;

	if (!type || !cJSON_IsObject(object) || !strcmp(type, "ERROR")) {
		go_on = watch_wrong(x, object);
	} else {
		if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED") || !strcmp(type, "DELETED"))
			x->kind->put(x->w->pods, object, *type == 'D');
		watch_version(x, pods_object(object, "metadata"));
		pods_well(x->w, strcmp(type, "BOOKMARK") != 0);
		x->backoff.failures = 0;
	}
	cJSON_Delete(json);
	return go_on && !pods_stops(x->w->pods);
}

static bool watch_take(void *ctx, const char *data, size_t len)
{
	struct watch *x = ctx;

	/* The server has accepted the watch, but has reported no change yet. */
	if (!len && !x->stream.list)
		pods_well(x->w, 0);
	return pods_stream_feed(&x->stream, data, len);
}

/* ---- requests */

static void watch_path(const struct watch *x, struct buffer *out)
{
	buffer_printf(out, "%s", x->kind->path);
	if (!x->kind->field)
		return;
	buffer_printf(out, "?fieldSelector=%s%%3D", x->kind->field);
	web_escape(out, x->w->pods->node);
}

/* Sends a GET. */
static int watch_get(struct watch *x, const char *path, double timeout_s, struct web_reply *ret)
{
	return access_send(
		&x->w->access,
		&(struct access_request){
			.path = path, .timeout_s = timeout_s, .take = watch_take, .ctx = x},
		ret);
}

/* Handles a failed request: sets asked_ms and records the error. */
static void watch_refused(struct watch *x, const struct web_reply *r)
{
	char why[512];

	x->asked_ms = r->retry_after_ms;
	access_why(&x->w->access, r, x->kind->what, x->kind->rule, why, sizeof(why));
	pods_trouble(x->w, "%s", why);
}

/* Reads one page of a list. Returns 0; -ESTALE: the pages expired; -EIO: another error, which was
 * recorded. */
static int watch_page(struct watch *x)
{
	struct buffer path = {0};
	struct web_reply r = {0};
	int err = 0;

	watch_path(x, &path);
	if (x->kind->field && !x->whole)
		buffer_printf(&path, "&limit=%d", PODS_PAGE);
	if (x->next[0]) {
		buffer_printf(&path, "&continue=");
		web_escape(&path, x->next);
	} else if (x->kind->field && !x->listed) {
		buffer_printf(&path, "&resourceVersion=0");
	}
	x->next[0] = '\0';
	x->stream = (struct pods_stream){
		.list = true, .object = watch_item, .meta = watch_meta, .ctx = x};
	if (!path.failed)
		err = watch_get(x, path.data, x->w->pods->intervals.list_s, &r);
	if (path.failed || err == -ENOMEM || x->stream.text.failed) {
		pods_trouble(x->w, "the %s cannot be read from %s: gp-bpf is out of memory",
			     x->kind->what, x->w->access.server);
		err = -EIO;
	} else if (!err && r.status == 410) {
		err = -ESTALE;
	} else if (err || r.status != 200) {
		watch_refused(x, &r);
		err = -EIO;
	} else if (r.cut || x->stream.depth || !x->stream.objects ||
		   (x->kind->field && !x->version[0])) {
		pods_trouble(x->w, "the %s cannot be read from %s: the reply is not a list",
			     x->kind->what, x->w->access.server);
		err = -EIO;
	}
	pods_lost(x->w->pods, x->stream.skipped);
	pods_stream_free(&x->stream);
	web_reply_free(&r);
	buffer_free(&path);
	return err;
}

static int watch_list(struct watch *x)
{
	int err = 0, pages = 0;

	x->version[0] = x->next[0] = '\0';
	if (x->kind->pods)
		pods_list_begin(x->w->pods);
	do
		err = watch_page(x);
	while (!err && x->next[0] && ++pages < WATCH_PAGES);
	if (!err && x->next[0]) {
		pods_trouble(x->w, "the %s cannot be read from %s: the list has too many pages",
			     x->kind->what, x->w->access.server);
		err = -EIO;
	}
	if (err == -ESTALE && x->whole) {
		pods_trouble(
			x->w,
			"the %s cannot be read from %s: the list expired before it was complete (410)",
			x->kind->what, x->w->access.server);
		err = -EIO;
	}
	x->whole = err == -ESTALE;
	if (err)
		return err;
	if (x->kind->pods)
		pods_list_end(x->w->pods);
	x->again = false;
	x->listed = true;
	pods_well(x->w, 0);
	return 0;
}

/* Handles the end of a watch. Returns true if the next one may begin without a pause. */
static bool watch_over(struct watch *x, int err, const struct web_reply *r, uint64_t lasted_ns,
		       uint64_t events)
{
	bool brief = (double)lasted_ns <= WATCH_BRIEF_S * 1e9;

	if (r->status == 200 && !brief)
		x->backoff.failures = 0;
	if (x->gone || (!err && r->status == 410)) {
		x->again = true;
		return !x->backoff.failures++; /* the first failure in a row needs no pause */
	}
	if (x->wrong) {
		pods_trouble(x->w, "the %s cannot be read from %s: %s", x->kind->what,
			     x->w->access.server, x->error);
		return false;
	}
	if (!err && r->status == 200)
		return events || !brief;
	if (r->status == 200 && r->failure == WEB_TIMEOUT) {
		/* The watch reported no changes. If it also sent no bookmark, changes may have been
		 * missed: read a new list. */
		x->again = !events;
		return events > 0;
	}
	/* A broken connection is recorded only if the next watch fails, too. */
	if (r->status != 200 || r->failure != WEB_BROKEN || x->backoff.failures)
		watch_refused(x, r);
	return false;
}

static bool watch_follow(struct watch *x)
{
	const struct pods_intervals *intervals = &x->w->pods->intervals;
	double lasts_s = intervals->watch_s * (0.8 + 0.4 * backoff_random());
	struct buffer path = {0};
	struct web_reply r = {0};
	uint64_t start_ns = clock_boot_ns(), events;
	int err = -ENOMEM;
	bool at_once;

	watch_path(x, &path);
	buffer_printf(&path, "&watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=",
		      lasts_s > 1 ? (int)lasts_s : 1);
	web_escape(&path, x->version);
	x->stream = (struct pods_stream){.object = watch_event, .ctx = x};
	x->gone = x->wrong = false;
	x->error[0] = '\0';
	if (!path.failed)
		err = watch_get(x, path.data, lasts_s + intervals->watch_grace_s, &r);
	if (!err)
		pods_stream_end(&x->stream);
	events = x->stream.objects;
	pods_lost(x->w->pods, x->stream.skipped);
	pods_stream_free(&x->stream);
	at_once = watch_over(x, err, &r, clock_boot_ns() - start_ns, events);
	web_reply_free(&r);
	buffer_free(&path);
	return at_once;
}

/* Waits until the next list is due, for servers that do not support watches. Returns false if the
 * thread has to end. */
static bool watch_pause(struct watch *x)
{
	x->backoff.failures = 0;
	x->again = true;
	return pods_sleep(x->w->pods, x->w->pods->intervals.kubelet_s);
}

static void watch_run(struct pods_worker *w, const struct watch_kind *kind)
{
	struct pods *p = w->pods;
	struct watch *x = calloc(1, sizeof(*x));
	bool at_once;
	int err;

	if (!x) {
		pods_trouble(w, "the %s cannot be read: gp-bpf is out of memory", kind->what);
		return;
	}
	x->kind = kind;
	x->w = w;
	x->again = true;
	while (!pods_stops(p)) {
		x->asked_ms = BACKOFF_UNASKED;
		err = x->again ? watch_list(x) : 0;
		at_once = err ? err == -ESTALE : kind->field ? watch_follow(x) : watch_pause(x);
		if (at_once || pods_stops(p))
			continue;
		pods_wait_longer(p, &x->backoff, x->asked_ms);
	}
	free(x);
}

/* ---- pods */

static void watch_put_pod(struct pods *p, const cJSON *object, bool gone)
{
	char alias[PODS_UID_MAX];
	struct pod pod;

	if (pods_parse(object, &pod, alias))
		pods_put(p, &pod, alias, gone);
}

void pods_watch_pods(void *worker)
{
	static const struct watch_kind kind = {
		.path = "/api/v1/pods",
		.field = "spec.nodeName",
		.what = "pods of this node",
		.rule = "its service account needs a ClusterRole with pods: list, watch",
		.pods = true,
		.put = watch_put_pod,
	};

	watch_run(worker, &kind);
}

/* ---- the node */

/* Updates the conditions and taints of the node that may end its processes. If the node was
 * deleted, does nothing: earlier events of the node stay in effect. */
static void watch_put_node(struct pods *p, const cJSON *object, bool gone)
{
	struct pods_signal *signals = gone ? NULL : calloc(PODS_SIGNALS, sizeof(*signals));

	if (signals)
		pods_signals(p, 0, signals, pods_parse_node(object, signals));
	free(signals);
}

void pods_watch_node(void *worker)
{
	static const struct watch_kind kind = {
		.path = "/api/v1/nodes",
		.field = "metadata.name",
		.what = "conditions of this node",
		.rule = "its service account needs a ClusterRole with nodes: list, watch",
		.put = watch_put_node,
	};

	watch_run(worker, &kind);
}

/* ---- the kubelet, which has no watch */

void pods_watch_kubelet(void *worker)
{
	static const struct watch_kind kind = {
		.path = "/pods",
		.what = "pods of the kubelet",
		.rule = "its service account needs a ClusterRole with nodes/pods: get (before Kubernetes 1.33 nodes/proxy: get)",
		.pods = true,
		.put = watch_put_pod,
	};

	watch_run(worker, &kind);
}
