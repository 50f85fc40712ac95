/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/handover/successor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/worker.h"
#include "userspace/kubernetes/access.h"
#include "userspace/kubernetes/pods_field.h"

#define LIMIT_S	     3
#define AGAIN_NS     200000000ull /* pause before a failed request is repeated */
#define TOKEN_S	     60
#define NAME_MAX_LEN 253

struct successor {
	struct access access;
	char *pod, *namespace; /* names of this pod and its namespace; NULL: unknown */
	unsigned limit_s;
	uint64_t end_ns;
	char *why;
	size_t cap;
	/* The following members are the state of successor_ask(). */
	struct worker thread;
	/* Answer (comes) and its reason (text). Until the thread has ended, only the thread uses
	 * them. */
	bool comes;
	char text[400];
	int fd; /* readable when the thread has ended; -1: no thread was started */
	struct loop *loop;
	successor_fn *fn;
	void *ctx;
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
	struct successor *s = calloc(1, sizeof(*s));
	int err;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	worker_init(&s->thread);
	s->fd = -1;
	err = access_open(&s->access, "Kubernetes API server", cfg->server, cfg->token_file,
			  cfg->ca_file, TOKEN_S);
	if (err || !s->access.server) {
		successor_free(s);
		return err;
	}
	s->limit_s = cfg->limit_s ? cfg->limit_s : LIMIT_S;
	s->pod = successor_copy(cfg->pod, "POD_NAME");
	s->namespace = successor_copy(cfg->namespace, "POD_NAMESPACE");
	*ret = s;
	return 0;
}

static void successor_forget(struct successor *s)
{
	if (s->fd < 0)
		return;
	loop_remove_fd(s->loop, s->fd);
	close(s->fd);
	s->fd = -1;
}

void successor_free(struct successor *s)
{
	if (!s)
		return;
	if (s->access.web)
		successor_cancel(s);
	/* free the thread first, because it writes to the descriptor that is closed next */
	worker_free(&s->thread);
	successor_forget(s);
	access_free(&s->access);
	free(s->pod);
	free(s->namespace);
	free(s);
}

void successor_cancel(struct successor *s)
{
	worker_stop(&s->thread);
	web_cancel(s->access.web);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Returns true if a failure may be temporary: the API server is restarting or overloaded. */
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
		says_no(s, "%s: the API server answered with status %ld", what, r->status);
		return NULL;
	}
	json = r->body.len && !r->cut ? cJSON_ParseWithLength(r->body.data, r->body.len) : NULL;
	if (!cJSON_IsObject(json)) {
		cJSON_Delete(json);
		json = NULL;
		says_no(s, "%s: the API server's answer cannot be parsed", what);
	}
	return json;
}

/* Sends a GET request, again after temporary failures, and parses the reply. Returns NULL on an
 * error, whose reason is in s->why. */
static cJSON *successor_request(struct successor *s, const char *path, const char *what)
{
	struct web_reply r = {0};
	uint64_t now_ns;
	cJSON *json;
	int err;

	do {
		now_ns = clock_mono_ns();
		err = now_ns >= s->end_ns
			      ? -ETIMEDOUT
			      : access_send(
					&s->access,
					&(struct access_request){
						.path = path,
						.timeout_s = (double)(s->end_ns - now_ns) / 1e9},
					&r);
	} while (successor_is_passing(err, &r) && clock_mono_ns() + AGAIN_NS < s->end_ns &&
		 worker_sleep(&s->thread, AGAIN_NS));
	json = successor_answer(s, err, &r, what);
	web_reply_free(&r);
	return json;
}

static bool successor_stays(struct successor *s, const char *path, const char *what)
{
	cJSON *json = successor_request(s, path, what);
	bool ends = json && pods_object(pods_object(json, "metadata"), "deletionTimestamp");

	if (ends)
		says_no(s, "%s is being deleted", what);
	cJSON_Delete(json);
	return json && !ends;
}

/* Gets the name of the DaemonSet that owns this pod. The pod keeps this reference even if the
 * DaemonSet is deleted. Returns false on an error, whose reason is in s->why. */
static bool successor_find_owner(struct successor *s, char *name, size_t cap)
{
	char path[640];
	cJSON *json;
	const cJSON *items, *owners, *owner;
	bool found = false;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?fieldSelector=metadata.name%%3D%s",
		 s->namespace, s->pod);
	json = successor_request(s, path, "this pod");
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
	return found ? true : says_no(s, "this pod does not belong to a DaemonSet");
}

bool successor_comes(struct successor *s, char *why, size_t cap)
{
	char name[NAME_MAX_LEN + 1], path[640], what[NAME_MAX_LEN + 32];

	s->why = why;
	s->cap = cap;
	s->end_ns = clock_mono_ns() + s->limit_s * 1000000000ull;
	if (!s->pod || !s->namespace || !access_is_plain(s->pod, "", NAME_MAX_LEN) ||
	    !access_is_plain(s->namespace, "", NAME_MAX_LEN))
		return says_no(s, "cannot identify this pod: set POD_NAME and POD_NAMESPACE");
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

/* ---- in the background ----------------------------------------------------------------------- */

static void successor_run(void *ctx)
{
	struct successor *s = ctx;

	s->comes = successor_comes(s, s->text, sizeof(s->text));
	eventfd_write(s->fd, 1);
}

static void successor_on_answer(void *ctx, uint64_t value)
{
	struct successor *s = ctx;

	(void)value;
	worker_join(&s->thread);
	successor_forget(s);
	s->fn(s->ctx, s->comes, s->text);
}

int successor_ask(struct successor *s, struct loop *loop, successor_fn *fn, void *ctx)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = fd < 0 ? -errno : loop_add_fd(loop, fd, EPOLLIN, successor_on_answer, s);

	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	s->fd = fd;
	s->loop = loop;
	s->fn = fn;
	s->ctx = ctx;
	err = worker_start(&s->thread, "handover", successor_run, s);
	if (err)
		successor_forget(s);
	return err;
}
