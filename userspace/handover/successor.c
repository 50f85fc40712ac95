/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/successor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

#define LIMIT_S	     3
#define AGAIN_S	     0.2 /* after a failed request */
#define NAME_MAX_LEN 253

struct successor {
	struct pods *pods; /* only its settings and requests are used */
	struct access access;
	char *pod, *namespace; /* NULL: unknown */
	unsigned limit_s;
	uint64_t end_ns;
	char *why;
	size_t cap;
};

static __attribute__((format(printf, 2, 3))) bool says_no(struct successor *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_escape(s->why, s->cap, text, strlen(text));
	return false;
}

static char *successor_copy(const char *given, const char *name)
{
	const char *value = given ? given : access_environment(name);

	return value ? strdup(value) : NULL;
}

int successor_new(struct successor **ret, const struct successor_config *cfg)
{
	struct pods_config pods = {
		.server = cfg->server, .token_file = cfg->token_file, .ca_file = cfg->ca_file};
	struct successor *s = calloc(1, sizeof(*s));
	int err = s ? pods_new(&s->pods, &pods, &pods_usual_intervals) : -ENOMEM;

	*ret = NULL;
	if (err || !s->pods) {
		free(s);
		return err;
	}
	s->pods->workers[0].pods = s->pods;
	err = web_open(&s->pods->workers[0].web);
	s->limit_s = cfg->limit_s ? cfg->limit_s : LIMIT_S;
	s->pod = successor_copy(cfg->pod, "POD_NAME");
	s->namespace = successor_copy(cfg->namespace, "POD_NAMESPACE");
	s->access = (struct access){.server = s->pods->server,
				    .token_file = s->pods->token_file,
				    .ca_file = s->pods->ca_file,
				    .token_s = s->pods->intervals.token_s,
				    .web = s->pods->workers[0].web};
	if (err) {
		successor_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void successor_free(struct successor *s)
{
	if (!s)
		return;
	access_free(&s->access);
	pods_close(s->pods);
	free(s->pod);
	free(s->namespace);
	free(s);
}

void successor_cancel(struct successor *s)
{
	struct pods *p = s->pods;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	web_cancel(p->workers[0].web);
}

/* The failure may be brief: the API server is restarting or overloaded. */
static bool successor_is_passing(int err, const struct web_reply *r)
{
	return err == -EIO ? r->failure != WEB_CANCELLED
			   : !err && (r->status == 429 || r->status >= 500);
}

static cJSON *successor_answer(struct successor *s, int err, const struct web_reply *r,
			       const char *what)
{
	cJSON *json;

	if (err) {
		says_no(s, "%s: the API server does not answer%s%s", what, r->why[0] ? ": " : "",
			r->why);
		return NULL;
	}
	if (r->status == 404) {
		says_no(s, "%s is deleted", what);
		return NULL;
	}
	if (r->status != 200) {
		says_no(s, "%s: the API server does not tell (%ld)", what, r->status);
		return NULL;
	}
	json = r->body.len && !r->cut ? cJSON_ParseWithLength(r->body.data, r->body.len) : NULL;
	if (!cJSON_IsObject(json)) {
		cJSON_Delete(json);
		json = NULL;
		says_no(s, "%s: what the API server tells cannot be read", what);
	}
	return json;
}

/* Returns NULL with a reason in why. */
static cJSON *successor_ask(struct successor *s, const char *path, const char *what)
{
	struct web_reply r = {0};
	uint64_t now_ns;
	cJSON *json;
	int err;

	for (;;) {
		now_ns = clock_mono_ns();
		err = now_ns >= s->end_ns
			      ? -ETIMEDOUT
			      : pods_get_reply(&s->access, path, (double)(s->end_ns - now_ns) / 1e9,
					       NULL, NULL, &r);
		if (!successor_is_passing(err, &r) ||
		    clock_mono_ns() + AGAIN_S * 1e9 >= s->end_ns || !pods_sleep(s->pods, AGAIN_S))
			break;
	}
	json = successor_answer(s, err, &r, what);
	web_reply_free(&r);
	return json;
}

static bool successor_stays(struct successor *s, const char *path, const char *what)
{
	cJSON *json = successor_ask(s, path, what);
	bool ends = json && pods_object(pods_object(json, "metadata"), "deletionTimestamp");

	if (ends)
		says_no(s, "%s is being deleted", what);
	cJSON_Delete(json);
	return json && !ends;
}

/* The name of the DaemonSet that owns this pod; the reference stays when that is deleted. Returns
 * false with a reason in why. */
static bool successor_find_owner(struct successor *s, char *name, size_t cap)
{
	char path[640];
	cJSON *json;
	const cJSON *items, *owners, *owner;
	bool found = false;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?fieldSelector=metadata.name%%3D%s",
		 s->namespace, s->pod);
	json = successor_ask(s, path, "this pod");
	if (!json)
		return false;
	items = pods_object(json, "items");
	if (cJSON_GetArraySize(items) != 1) {
		cJSON_Delete(json);
		return says_no(s, "this pod is deleted");
	}
	owners = pods_object(pods_object(items->child, "metadata"), "ownerReferences");
	cJSON_ArrayForEach(owner, owners)
	{
		const char *kind = cJSON_GetStringValue(pods_object(owner, "kind")),
			   *own = cJSON_GetStringValue(pods_object(owner, "name"));

		if (kind && own && !strcmp(kind, "DaemonSet") &&
		    access_is_plain(own, "", NAME_MAX_LEN)) {
			snprintf(name, cap, "%s", own);
			found = true;
		}
	}
	cJSON_Delete(json);
	return found ? true : says_no(s, "this pod is of no DaemonSet");
}

bool successor_comes(struct successor *s, char *why, size_t cap)
{
	char name[NAME_MAX_LEN + 1], path[640], what[NAME_MAX_LEN + 32];

	s->why = why;
	s->cap = cap;
	s->end_ns = clock_mono_ns() + s->limit_s * 1000000000ull;
	if (!s->pod || !s->namespace || !access_is_plain(s->pod, "", NAME_MAX_LEN) ||
	    !access_is_plain(s->namespace, "", NAME_MAX_LEN))
		return says_no(s, "which pod this is, POD_NAME and POD_NAMESPACE do not tell");
	if (!successor_find_owner(s, name, sizeof(name)))
		return false;
	snprintf(path, sizeof(path), "/apis/apps/v1/namespaces/%s/daemonsets/%s", s->namespace,
		 name);
	snprintf(what, sizeof(what), "its DaemonSet %s", name);
	if (!successor_stays(s, path, what))
		return false;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s", s->namespace);
	snprintf(what, sizeof(what), "its namespace %s", s->namespace);
	return successor_stays(s, path, what);
}
