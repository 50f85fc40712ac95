/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/top_fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/worker.h"
#include "userspace/ingest/durable.h"

#define ASK_MS 5000

const char *top_socket(const char *state_dir, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/gp-bpf.sock", state_dir ? state_dir : DURABLE_DIR);
	return out;
}

int top_source(struct top_source *ret, const char *listen, const char *state_dir)
{
	const char *colon = listen ? strrchr(listen, ':') : NULL;

	memset(ret, 0, sizeof(*ret));
	if (!listen || !strncmp(listen, "unix:", 5)) {
		if (listen)
			snprintf(ret->socket, sizeof(ret->socket), "%s", listen + 5);
		else
			top_socket(state_dir, ret->socket);
		snprintf(ret->name, sizeof(ret->name), "unix:%s", ret->socket);
		snprintf(ret->url, sizeof(ret->url), "http://localhost/debug/state");
		if (strlen(ret->socket) < sizeof(((struct sockaddr_un *)0)->sun_path) &&
		    *ret->socket)
			return 0;
		log_error("%s: invalid path: expected 1 to %zu bytes", ret->name,
			  sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
		return -EINVAL;
	}
	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strpbrk(listen, "/@?# ") || strlen(listen) > 300) {
		log_error("--listen %s: expected ADDR:PORT, [V6]:PORT, :PORT or unix:PATH", listen);
		return -EINVAL;
	}
	snprintf(ret->name, sizeof(ret->name), "%s", listen);
	snprintf(ret->url, sizeof(ret->url), "http://%s%s/debug/state",
		 colon == listen ? "127.0.0.1" : "", listen);
	return 0;
}

int top_source_check(const struct top_source *src)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, err;

	if (!*src->socket)
		return 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	memcpy(addr.sun_path, src->socket, strnlen(src->socket, sizeof(addr.sun_path) - 1));
	err = connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	close(fd);
	if (err == -EACCES || err == -EPERM)
		return -EACCES;
	return !err || err == -EAGAIN ? 0 : -ENOENT;
}

/* ---- one answer ------------------------------------------------------------------------------ */

static bool fetch_take(void *ctx, const char *data, size_t len)
{
	struct buffer *body = ctx;

	if (len)
		buffer_add(body, data, len);
	return !body->failed && body->len <= TOP_BYTES;
}

static int fetch_refused(const struct web_reply *r, char why[TOP_WHY_MAX])
{
	int len = (int)strcspn(r->body.data ? r->body.data : "", "\r\n");
	char answer[160];

	log_escape(answer, sizeof(answer), r->body.data ? r->body.data : "", (size_t)len);
	if (r->status == 503) {
		snprintf(why, TOP_WHY_MAX, "the service is starting");
		return -EAGAIN;
	}
	snprintf(why, TOP_WHY_MAX, "HTTP status %ld%s%s", r->status, *answer ? ": " : "", answer);
	return -EACCES;
}

int top_ask(struct web *w, const struct top_source *src, struct buffer *body, char why[TOP_WHY_MAX])
{
	const struct web_request rq = {.method = "GET",
				       .url = src->url,
				       .timeout_ms = ASK_MS,
				       .direct = true,
				       .socket = *src->socket ? src->socket : NULL,
				       .take = fetch_take,
				       .ctx = body};
	struct web_reply r = {0};
	int err;

	buffer_clear(body);
	err = web_send(w, &rq, &r);
	*why = '\0';
	if (r.cut || body->failed)
		err = -E2BIG;
	if (err == -E2BIG)
		snprintf(why, TOP_WHY_MAX, "the answer is too long");
	else if (err)
		snprintf(why, TOP_WHY_MAX, "no answer: %s", r.why);
	else if (r.status != 200)
		err = fetch_refused(&r, why);
	web_reply_free(&r);
	return err;
}

/* ---- repetition ------------------------------------------------------------------------------ */

struct top_fetch {
	struct top_source source;
	uint64_t interval_ns;
	struct web *web;
	int fd;
	struct worker thread; /* its lock protects the members below, which both threads use */
	bool fresh;
	struct top_state state;
	int err;
	char why[TOP_WHY_MAX];
};

static void fetch_publish(struct top_fetch *f, struct top_state *s, int err, const char *why)
{
	uint64_t one = 1;

	worker_lock(&f->thread);
	if (!err) {
		top_state_free(&f->state);
		f->state = *s;
		f->fresh = true;
	}
	f->err = err;
	snprintf(f->why, sizeof(f->why), "%s", why);
	worker_unlock(&f->thread);
	if (write(f->fd, &one, sizeof(one)) < 0)
		return; /* EAGAIN: the counter is at its limit, so the descriptor is readable */
}

static void fetch_run(void *ctx)
{
	struct top_fetch *f = ctx;
	struct buffer body = {0};
	char why[TOP_WHY_MAX];

	do {
		struct top_state s = {0};
		int err = top_ask(f->web, &f->source, &body, why);

		if (!err)
			err = top_state_parse(&s, body.data, body.len);
		if (err && !*why)
			snprintf(why, sizeof(why),
				 "the answer is not the state of a gp-bpf service");
		fetch_publish(f, &s, err, why);
	} while (worker_sleep(&f->thread, f->interval_ns));
	buffer_free(&body);
}

int top_fetch_start(struct top_fetch **ret, const struct top_source *src, uint64_t interval_ns)
{
	struct top_fetch *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->source = *src;
	f->interval_ns = interval_ns;
	worker_init(&f->thread);
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = f->fd < 0 ? -errno : web_open(&f->web);
	if (!err)
		err = worker_start(&f->thread, "fetch", fetch_run, f);
	if (err) {
		top_fetch_stop(f);
		return err;
	}
	*ret = f;
	return 0;
}

int top_fetch_fd(const struct top_fetch *f)
{
	return f->fd;
}

int top_fetch_take(struct top_fetch *f, struct top_state *ret, char why[TOP_WHY_MAX])
{
	uint64_t count;
	int err;

	if (read(f->fd, &count, sizeof(count)) < 0)
		return 0;
	worker_lock(&f->thread);
	err = f->err ? f->err : f->fresh;
	if (err > 0) {
		*ret = f->state;
		f->state = (struct top_state){0};
		f->fresh = false;
	}
	snprintf(why, TOP_WHY_MAX, "%s", f->why);
	worker_unlock(&f->thread);
	return err;
}

void top_fetch_stop(struct top_fetch *f)
{
	if (!f)
		return;
	worker_stop(&f->thread);
	if (f->web)
		web_cancel(f->web);
	worker_free(&f->thread);
	web_close(f->web);
	if (f->fd >= 0)
		close(f->fd);
	top_state_free(&f->state);
	free(f);
}
