/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - a small read-only HTTP server on its own thread: /, /metrics, /healthz, /readyz,
 * /debug/state. If a web config (web_config.h) asks for TLS or basic auth, they apply to every
 * path.
 *
 * At most HTTP_CONNECTIONS connections are open, HTTP_ADDRESS from one address. A connection is
 * closed if it is idle for HTTP_IDLE_S seconds, or if a request takes longer than
 * HTTP_REQUEST_S. */
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
#define HTTP_MEMORY	 (16 << 10) /* bytes for a connection; a request's headers must fit */
#define HTTP_LISTEN	 "127.0.0.1:9847"

/* The documents to serve. All functions are called on the server's thread. */
struct http_source {
	void *ctx;
	uint64_t (*version)(
		void *ctx); /* version of the data that the others write; 0: no data yet */
	/* Called once per version, whatever the number of clients. */
	void (*metrics)(void *ctx, struct buffer *out, enum prometheus_format format);
	void (*state)(void *ctx,
		      struct buffer *out); /* writes all state as JSON; NULL: it is not served */
	/* If http_tick() is not called for that many seconds, the caller is stuck, and the answers
	 * say neither healthy nor ready; 0: never. */
	uint32_t stuck_s;
	void (*state_masked)(
		void *ctx,
		struct buffer *out); /* used instead of state at a TCP address; NULL: state */
};

struct http_server;
/* listen: ADDR:PORT, [V6]:PORT, :PORT or unix:PATH; NULL: HTTP_LISTEN. web_config: a file name;
 * NULL: none. Returns 0, or -errno (-EADDRINUSE, -EINVAL) after one line. src is copied. */
int http_open(struct http_server **ret, const char *listen, const char *web_config,
	      const struct http_source *src);
/* Serves at a unix socket for this user only, without a web config. Returns 0 or -errno; the caller
 * logs errors of the path: listen_open_own(). */
int http_open_own(struct http_server **ret, const char *path, const struct http_source *src);
/* "127.0.0.1:9847": the address in use (port 0 was replaced). Valid until the server is closed. */
const char *http_address(const struct http_server *h);
/* Whether other machines can connect, and need no credentials. */
bool http_exposed(const struct http_server *h);
/* "TLS and basic auth": the protection that the web config asked for; static text. */
const char *http_protection(const struct http_server *h);
/* Call about once a second, from any thread: it shows that the caller is alive, and ends
 * connections that take too long. */
void http_tick(struct http_server *h);
void http_close(struct http_server *h);

#endif
