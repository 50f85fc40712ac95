/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/http/http_accept.h"
#include "userspace/http/http_auth.h"
#include "userspace/http/http_conn.h"
#include "userspace/http/http_page.h"
#include "userspace/http/http_web.h"
#include "userspace/http/listen.h"

#define HTTP_TEXT "text/plain; charset=utf-8"
#define HTTP_NS	  1000000000ull

/* Indexes of the cached documents: first the metrics in each format, then the state. */
enum { HTTP_STATE = PROMETHEUS_FORMATS, HTTP_DOCUMENTS };
_Static_assert((int)HTTP_DOCUMENTS <= HTTP_PAGES, "a place for each document");

struct http_server {
	struct MHD_Daemon *daemon;
	struct listen_socket listen;
	struct http_source source;
	struct http_conns conns;
	struct http_web *web;	/* only the server's thread uses web and pages */
	struct http_auth *auth; /* NULL: without a web config */
	/* Responses are reference-counted: a slow client keeps its response, all others get the
	 * newest. */
	struct http_pages pages;
	struct http_page_row row[HTTP_DOCUMENTS];
	/* protection in use since the start; a changed web config cannot switch it off */
	bool tls, users, guarded;
	_Atomic uint64_t ticked_ns;
};

/* One request. It is suspended while its password is checked. */
struct http_call {
	struct MHD_Connection *connection;
	bool asked;
	struct http_auth_ask ask;
};

/* A short answer of fixed text. */
struct http_reply {
	unsigned status;
	const char *text, *type; /* static texts; type: Content-Type, NULL: plain text */
	const char *header, *value;
};

static void http_headers(void *ctx, struct MHD_Response *r)
{
	const struct web_config *c = http_web_config(((struct http_server *)ctx)->web);

	for (int i = 0; i < WEB_HEADERS; i++) {
		const char *value = c->header[i] ? c->header[i] : web_header_rows[i].value;

		if (value && *value)
			MHD_add_response_header(r, web_header_rows[i].name, value);
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

static enum MHD_Result http_send(struct http_server *h, struct MHD_Connection *c,
				 struct http_reply reply)
{
	struct MHD_Response *r;
	enum MHD_Result ok;

	r = MHD_create_response_from_buffer(strlen(reply.text), (void *)(uintptr_t)reply.text,
					    MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
				reply.type ? reply.type : HTTP_TEXT);
	if (reply.header)
		MHD_add_response_header(r, reply.header, reply.value);
	http_headers(h, r);
	ok = MHD_queue_response(c, reply.status, r);
	MHD_destroy_response(r);
	return ok;
}

static void http_render(void *ctx, int which, struct buffer *out)
{
	struct http_server *h = ctx;

	if (which == HTTP_STATE && h->source.state_masked && !h->listen.path[0])
		h->source.state_masked(h->source.ctx, out);
	else if (which == HTTP_STATE)
		h->source.state(h->source.ctx, out);
	else
		h->source.metrics(h->source.ctx, out, (enum prometheus_format)which);
}

static const char *http_header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result http_document(struct http_server *h, struct MHD_Connection *c, int which)
{
	bool gzip = http_accept_gzip(http_header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	struct MHD_Response *r = http_page(&h->pages, which, &h->row[which],
					   h->source.version(h->source.ctx), gzip);

	if (!r)
		return http_send(
			h, c,
			(struct http_reply){MHD_HTTP_INTERNAL_SERVER_ERROR, .text = "no memory\n"});
	return MHD_queue_response(c, MHD_HTTP_OK, r);
}

static enum MHD_Result http_metrics(struct http_server *h, struct MHD_Connection *c)
{
	return http_document(h, c, (int)http_accept_format(http_header(c, MHD_HTTP_HEADER_ACCEPT)));
}

/* Answers 503 if the caller of http_tick() is stuck. Returns true if the request has been
 * answered. */
static bool http_stuck(struct http_server *h, struct MHD_Connection *c, enum MHD_Result *ret)
{
	/* read before the clock, so that the difference below is not negative */
	uint64_t ticked_ns = h->ticked_ns;

	if (!h->source.stuck_s || clock_mono_ns() - ticked_ns < h->source.stuck_s * HTTP_NS)
		return false;
	*ret = http_send(
		h, c,
		(struct http_reply){
			MHD_HTTP_SERVICE_UNAVAILABLE,
			.text = "stuck: gp-bpf has observed nothing for a minute or more\n"});
	return true;
}

static enum MHD_Result http_health(struct http_server *h, struct MHD_Connection *c)
{
	enum MHD_Result stuck;

	if (http_stuck(h, c, &stuck))
		return stuck;
	return http_send(h, c, (struct http_reply){MHD_HTTP_OK, .text = "ok\n"});
}

static enum MHD_Result http_ready(struct http_server *h, struct MHD_Connection *c)
{
	enum MHD_Result stuck;

	if (http_stuck(h, c, &stuck))
		return stuck;
	if (h->source.version(h->source.ctx))
		return http_send(h, c, (struct http_reply){MHD_HTTP_OK, .text = "ready\n"});
	return http_send(h, c,
			 (struct http_reply){MHD_HTTP_SERVICE_UNAVAILABLE,
					     .text = "nothing observed yet\n"});
}

/* Guards against DNS rebinding: a page of another site may point its own name at this address; the
 * browser then sends that name as the host. */
static bool http_host_is_local(const char *host)
{
	static const char *const local[] = {"localhost", "127.0.0.1", "[::1]"};

	if (!host)
		return true;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		size_t len = strlen(local[i]);

		if (!strncasecmp(host, local[i], len) && (!host[len] || host[len] == ':'))
			return true;
	}
	return false;
}

static enum MHD_Result http_state(struct http_server *h, struct MHD_Connection *c)
{
	bool open = h->listen.path[0] || (h->listen.loopback &&
					  http_host_is_local(http_header(c, MHD_HTTP_HEADER_HOST)));

	if (!h->source.state)
		return http_send(
			h, c, (struct http_reply){MHD_HTTP_NOT_FOUND, .text = "not served here\n"});
	if (!open && !web_config_protects(http_web_config(h->web)))
		return http_send(
			h, c,
			(struct http_reply){
				MHD_HTTP_FORBIDDEN,
				.text = "gp-bpf: /debug/state is served only at a loopback address (with a local host name in the URL) or unix socket, or with basic auth or verified client certificates (--web-config)\n"});
	return h->source.version(h->source.ctx) ? http_document(h, c, HTTP_STATE)
						: http_ready(h, c);
}

static enum MHD_Result http_home(struct http_server *h, struct MHD_Connection *c)
{
	static const char page[] =
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta "
		"charset=\"utf-8\"><title>gp-bpf</title></head>\n"
		"<body>\n<h1>gp-bpf " GP_VERSION
		"</h1>\n<p>What training jobs do with their time.</p>\n<ul>\n"
		"<li><a href=\"metrics\">metrics</a> for Prometheus: text or OpenMetrics</li>\n"
		"<li><a href=\"healthz\">healthz</a>: the process is alive</li>\n"
		"<li><a href=\"readyz\">readyz</a>: it observes</li>\n"
		"<li><a href=\"debug/state\">debug/state</a>: all that is known, as JSON</li>\n"
		"</ul>\n</body>\n</html>\n";

	return http_send(
		h, c,
		(struct http_reply){MHD_HTTP_OK, .text = page, .type = "text/html; charset=utf-8"});
}

static const struct {
	const char *path;
	enum MHD_Result (*answer)(struct http_server *h, struct MHD_Connection *c);
} http_paths[] = {
	{"/metrics", http_metrics},   {"/healthz", http_health}, {"/readyz", http_ready},
	{"/debug/state", http_state}, {"/", http_home},
};

static void http_auth_done(struct http_auth_ask *q)
{
	MHD_resume_connection(((struct http_call *)q->ctx)->connection);
}

/* Checks the request's password. Returns YES, or LATER if the password is being checked:
 * libmicrohttpd calls the handler again when that is done. Otherwise the request has been answered,
 * and the handler returns *ret. */
static enum http_auth_answer http_allowed(struct http_server *h, struct http_call *call,
					  enum MHD_Result *ret)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		call->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_conn *conn = info ? info->socket_context : NULL;
	const struct web_config *config = http_web_config(h->web);
	struct http_auth_ask *ask = &call->ask;

	if (!config->users)
		return HTTP_AUTH_YES;
	if (!call->asked) {
		call->asked = true;
		ask->ctx = call;
		ask->done = http_auth_done;
		ask->address = conn ? conn->address : 0;
		ask->answer = http_auth_ask(
			h->auth, config,
			http_header(call->connection, MHD_HTTP_HEADER_AUTHORIZATION), ask);
		if (ask->answer == HTTP_AUTH_LATER) {
			MHD_suspend_connection(call->connection);
			http_auth_wait(h->auth, ask);
			return HTTP_AUTH_LATER;
		}
	}
	if (ask->answer == HTTP_AUTH_NO)
		*ret = http_send(h, call->connection,
				 (struct http_reply){MHD_HTTP_UNAUTHORIZED,
						     "user and password required\n", NULL,
						     MHD_HTTP_HEADER_WWW_AUTHENTICATE,
						     "Basic realm=\"gp-bpf\", charset=\"UTF-8\""});
	else if (ask->answer == HTTP_AUTH_BUSY)
		*ret = http_send(
			h, call->connection,
			(struct http_reply){MHD_HTTP_TOO_MANY_REQUESTS,
					    "too many passwords are being checked; try again\n",
					    NULL, MHD_HTTP_HEADER_RETRY_AFTER, "1"});
	return ask->answer;
}

static enum MHD_Result http_answer(struct http_server *h, struct MHD_Connection *c, const char *url,
				   const char *method)
{
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return http_send(h, c,
				 (struct http_reply){MHD_HTTP_METHOD_NOT_ALLOWED,
						     "GET and HEAD only\n", NULL,
						     MHD_HTTP_HEADER_ALLOW, "GET, HEAD"});
	for (size_t i = 0; i < sizeof(http_paths) / sizeof(http_paths[0]); i++)
		if (!strcmp(url, http_paths[i].path))
			return http_paths[i].answer(h, c);
	return http_send(
		h, c,
		(struct http_reply){MHD_HTTP_NOT_FOUND,
				    .text = "gp-bpf: /metrics, /healthz, /readyz, /debug/state\n"});
}

static enum MHD_Result http_request(void *ctx, struct MHD_Connection *c, const char *url,
				    const char *method, const char *version, const char *upload,
				    size_t *upload_len, void **request)
{
	struct http_server *h = ctx;
	struct http_call *call = *request;
	enum MHD_Result ret = MHD_NO;
	enum http_auth_answer allowed;

	(void)version;
	(void)upload;
	if (!call) { /* first call: headers only; a body, if any, comes with later calls */
		call = calloc(1, sizeof(*call));
		*request = call;
		if (!call)
			return MHD_NO;
		call->connection = c;
		if (http_web_reload(h->web))
			http_pages_clear(&h->pages);
		return MHD_YES;
	}
	if (*upload_len) {
		*upload_len = 0;
		return MHD_YES;
	}
	allowed = http_allowed(h, call, &ret);
	if (allowed == HTTP_AUTH_LATER)
		return MHD_YES;
	return allowed == HTTP_AUTH_YES ? http_answer(h, c, url, method) : ret;
}

static void http_completed(void *ctx, struct MHD_Connection *c, void **request,
			   enum MHD_RequestTerminationCode how)
{
	struct http_server *h = ctx;
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	(void)how;
	if (info && info->socket_context)
		http_conn_answered(&h->conns, info->socket_context);
	free(*request);
	*request = NULL;
}

static void http_connection(void *ctx, struct MHD_Connection *c, void **socket_ctx,
			    enum MHD_ConnectionNotificationCode code)
{
	struct http_server *h = ctx;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		http_conn_close(&h->conns, *socket_ctx);
		*socket_ctx = NULL;
		return;
	}
	if (http_web_reload(h->web))
		http_pages_clear(&h->pages);
	/* If http_conn_open() fails, the session has no certificate, and the handshake fails. */
	*socket_ctx = http_conn_open(&h->conns, c, http_web_tls(h->web));
}

/* Refuses the handshake of sessions that http_tls_session() has not set up. */
static int http_no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
			       gnutls_pcert_st **certs, unsigned *count, gnutls_ocsp_data_st **ocsp,
			       unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
	(void)session;
	(void)info;
	(void)certs;
	(void)count;
	(void)ocsp;
	(void)ocsp_count;
	(void)key;
	(void)flags;
	return -1;
}

static struct MHD_Daemon *http_start(struct http_server *h)
{
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)http_no_certificate},
		{MHD_OPTION_END, 0, NULL},
	};
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	sigset_t all, before;
	struct MHD_Daemon *d;

	/* Signals are for the main thread: block them in the server's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = 0;
	d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
				     (h->tls ? MHD_USE_TLS : 0),
			     0, NULL, NULL, http_request, h, MHD_OPTION_LISTEN_SOCKET, h->listen.fd,
			     MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
			     MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)HTTP_ADDRESS,
			     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY,
			     MHD_OPTION_NOTIFY_COMPLETED, http_completed, h,
			     MHD_OPTION_NOTIFY_CONNECTION, http_connection, h, MHD_OPTION_ARRAY,
			     h->tls ? tls : none, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return d;
}

static void http_free(struct http_server *h)
{
	http_auth_stop(h->auth); /* no request may be suspended when the server stops */
	if (h->daemon)
		MHD_stop_daemon(h->daemon); /* closes the socket and waits for its thread */
	else if (h->listen.fd >= 0)
		close(h->listen.fd);
	http_pages_clear(&h->pages);
	http_auth_close(h->auth);
	http_web_close(h->web);
	listen_remove(&h->listen);
	free(h);
}

/* own: path of a unix socket that only this user can open; NULL: listen at the address `listen`. */
static int http_make(struct http_server **ret, const char *listen, const char *own,
		     const char *web_config, const struct http_source *src)
{
	struct http_server *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->source = *src;
	h->ticked_ns = clock_mono_ns();
	h->listen.fd = -1;
	http_conns_init(&h->conns);
	for (int i = 0; i < HTTP_DOCUMENTS; i++)
		h->row[i] = (struct http_page_row){
			i == HTTP_STATE ? "application/json"
					: prometheus_content_type((enum prometheus_format)i),
			http_render, http_headers, h};
	err = http_web_open(&h->web, web_config);
	if (!err && web_config)
		err = http_auth_open(&h->auth);
	if (!err)
		err = own ? listen_open_own(&h->listen, own)
			  : listen_open(&h->listen, listen ? listen : HTTP_LISTEN);
	if (err)
		goto fail;
	h->tls = http_web_config(h->web)->tls;
	h->users = http_web_config(h->web)->users;
	h->guarded = web_config_protects(http_web_config(h->web));
	h->daemon = http_start(h);
	if (!h->daemon) {
		err = errno ? -errno : -EIO;
		log_error("metrics at %s: cannot start the server: %s", h->listen.text,
			  strerror(-err));
		goto fail;
	}
	*ret = h;
	return 0;
fail:
	http_free(h);
	return err;
}

int http_open(struct http_server **ret, const char *listen, const char *web_config,
	      const struct http_source *src)
{
	return http_make(ret, listen, NULL, web_config, src);
}

int http_open_own(struct http_server **ret, const char *path, const struct http_source *src)
{
	return http_make(ret, NULL, path, NULL, src);
}

const char *http_address(const struct http_server *h)
{
	return h->listen.text;
}

bool http_exposed(const struct http_server *h)
{
	return !h->listen.path[0] && !h->listen.loopback && !h->guarded;
}

const char *http_protection(const struct http_server *h)
{
	if (h->tls)
		return h->users ? "TLS and basic auth" : "TLS";
	return h->users ? "basic auth without TLS" : "no TLS, no auth";
}

void http_tick(struct http_server *h)
{
	h->ticked_ns = clock_mono_ns();
	http_conns_tick(&h->conns, HTTP_REQUEST_S * HTTP_NS);
}

void http_close(struct http_server *h)
{
	if (h)
		http_free(h);
}
