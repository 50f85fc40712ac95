/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/export/listen.h"

#define HTTP_TEXT "text/plain; charset=utf-8"

struct http_server {
	struct MHD_Daemon *daemon;
	struct listen_socket listen;
	struct http_source source;
	/* Of the server's one thread. A response counts its references: a client that is slow to read
	 * keeps its own alive, everybody else gets the newest. */
	struct MHD_Response *page;
	uint64_t page_version;
	bool page_made;
};

static enum MHD_Result http_answer(struct MHD_Connection *c, unsigned status, const char *text,
				   const char *allow)
{
	struct MHD_Response *r;
	enum MHD_Result ok;

	r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, HTTP_TEXT);
	if (allow)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static int http_render(struct http_server *h, uint64_t version)
{
	struct buffer out = {0};
	struct MHD_Response *page;

	h->source.render(h->source.ctx, &out);
	if (out.failed || !out.data) {
		buffer_free(&out);
		return -ENOMEM;
	}
	page = MHD_create_response_from_buffer(out.len, out.data, MHD_RESPMEM_MUST_FREE);
	if (!page) {
		buffer_free(&out);
		return -ENOMEM;
	}
	MHD_add_response_header(page, MHD_HTTP_HEADER_CONTENT_TYPE, h->source.content_type);
	MHD_add_response_header(page, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (h->page)
		MHD_destroy_response(h->page);
	h->page = page;
	h->page_version = version;
	h->page_made = true;
	return 0;
}

static enum MHD_Result http_metrics(struct http_server *h, struct MHD_Connection *c)
{
	uint64_t version = h->source.version(h->source.ctx);

	if ((!h->page_made || version != h->page_version) && http_render(h, version))
		return http_answer(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n", NULL);
	return MHD_queue_response(c, MHD_HTTP_OK, h->page);
}

static enum MHD_Result http_request(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
				    const char *version, const char *upload, size_t *upload_len,
				    void **request)
{
	struct http_server *h = ctx;
	static int seen;

	(void)version;
	(void)upload;
	if (!*request) { /* headers only; a body, if any, comes with the calls that follow */
		*request = &seen;
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return http_answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n", "GET, HEAD");
	if (!strcmp(url, "/metrics"))
		return http_metrics(h, c);
	if (!strcmp(url, "/healthz"))
		return http_answer(c, MHD_HTTP_OK, "ok\n", NULL);
	if (!strcmp(url, "/readyz") && h->source.version(h->source.ctx))
		return http_answer(c, MHD_HTTP_OK, "ready\n", NULL);
	if (!strcmp(url, "/readyz"))
		return http_answer(c, MHD_HTTP_SERVICE_UNAVAILABLE, "nothing observed yet\n", NULL);
	return http_answer(c, MHD_HTTP_NOT_FOUND, "gp-bpf: /metrics, /healthz, /readyz\n", NULL);
}

static struct MHD_Daemon *http_start(struct http_server *h)
{
	sigset_t all, before;
	struct MHD_Daemon *d;

	/* Signals are the main thread's: the server's thread must not be the one they are delivered to. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, http_request, h,
			     MHD_OPTION_LISTEN_SOCKET, h->listen.fd, MHD_OPTION_CONNECTION_LIMIT,
			     (unsigned)HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(16 << 10), MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return d;
}

int http_open(struct http_server **ret, const char *listen, const struct http_source *src)
{
	struct http_server *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->source = *src;
	err = listen_open(&h->listen, listen ? listen : HTTP_LISTEN);
	if (err) {
		free(h);
		return err;
	}
	h->daemon = http_start(h);
	if (!h->daemon) {
		err = errno ? -errno : -EIO;
		log_error("metrics at %s: the server does not start: %s", h->listen.text, strerror(-err));
		close(h->listen.fd);
		listen_remove(&h->listen);
		free(h);
		return err;
	}
	*ret = h;
	return 0;
}

const char *http_address(const struct http_server *h)
{
	return h->listen.text;
}

void http_close(struct http_server *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon); /* closes the socket and waits for its thread */
	if (h->page)
		MHD_destroy_response(h->page);
	listen_remove(&h->listen);
	free(h);
}
