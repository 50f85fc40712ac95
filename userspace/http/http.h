/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - a small read-only HTTP server on its own thread: /, /metrics, /healthz, /readyz,
 * /debug/state; with TLS and basic auth where a web config asks for them (web_config.h), which then
 * hold for every path.
 *
 * At most HTTP_CONNECTIONS connections, HTTP_ADDRESS of one address; one that does nothing for
 * HTTP_IDLE_S seconds, or that has a request not done after HTTP_REQUEST_S, is closed. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/http/http_accept.h"

#define HTTP_CONNECTIONS 128
#define HTTP_ADDRESS	 112
#define HTTP_IDLE_S	 5
#define HTTP_REQUEST_S	 30
#define HTTP_MEMORY	 (16 << 10) /* of a connection: a request's headers must fit */
#define HTTP_LISTEN	 "127.0.0.1:9847"

/* Documents that are served. Called on the server's thread. */
struct http_source {
	void *ctx;
	uint64_t (*version)(
		void *ctx); /* of what the others would write; 0: nothing is known yet */
	/* Once per version, whatever the number of clients. */
	void (*metrics)(void *ctx, struct buffer *out, enum prometheus_format format);
	void (*state)(void *ctx,
		      struct buffer *out); /* JSON of all that is known; NULL: it is not served */
	/* A caller that has not called http_tick() for that long is stuck: neither healthy nor
	 * ready; 0: never. */
	uint32_t stuck_s;
	void (*state_masked)(void *ctx,
			     struct buffer *out); /* instead, at an address; NULL: state */
};

struct http_server;
/* listen: ADDR:PORT, [V6]:PORT, :PORT or unix:PATH; NULL: HTTP_LISTEN. web_config: a file; NULL:
 * none. 0 or -errno
 * (-EADDRINUSE, -EINVAL) after one line. src is copied. */
int http_open(struct http_server **ret, const char *listen, const char *web_config,
	      const struct http_source *src);
/* At a unix socket for this user alone, without a web config. The caller logs what is wrong with
 * the path: listen_open_own(). */
int http_open_own(struct http_server **ret, const char *path, const struct http_source *src);
/* "127.0.0.1:9847": where it really listens (port 0 was replaced). Valid until closed. */
const char *http_address(const struct http_server *h);
/* Others than this machine may reach it, and nobody is kept out. */
bool http_exposed(const struct http_server *h);
/* "TLS and basic auth": what the web config asked for; static text. */
const char *http_protection(const struct http_server *h);
/* To be called about once a second, from any thread: ends connections that take too long; who calls
 * is alive. */
void http_tick(struct http_server *h);
void http_close(struct http_server *h);

#endif
