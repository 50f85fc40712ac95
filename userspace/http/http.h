/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - a small read-only HTTP server on its own thread: /, /metrics, /healthz, /readyz,
 * /debug/state. If a web config (web_config.h) asks for TLS or basic auth, they apply to every
 * path. At most HTTP_CONNECTIONS connections are open, HTTP_ADDRESS of them from one address. A
 * connection is closed if it is idle for HTTP_IDLE_S seconds, or if a request takes longer than
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
/* bytes of memory for a connection, into which the headers of a request must fit */
#define HTTP_MEMORY (16 << 10)
#define HTTP_LISTEN "127.0.0.1:9847"

/* The documents to serve. All functions are called on the server's thread. */
struct http_source {
	void *ctx;
	uint64_t (*version)(
		void *ctx); /* returns the version of the data in the documents; 0: no data yet */
	/* Writes the metrics. Called once per version, whatever the number of clients. */
	void (*metrics)(void *ctx, struct buffer *out, enum prometheus_format format);
	void (*state)(void *ctx,
		      struct buffer *out); /* writes all state as JSON; NULL: it is not served */
	/* If http_tick() is not called for this many seconds, the server reports neither healthy
	 * nor ready; 0: never. */
	uint32_t stuck_s;
	void (*state_masked)(
		void *ctx,
		struct buffer *out); /* used instead of state() at a TCP address; may be NULL */
};

struct http_server;
/* Starts the server. listen: ADDR:PORT, [V6]:PORT, :PORT or unix:PATH; NULL: HTTP_LISTEN.
 * web_config: a file name; NULL: none. src is copied. Returns 0, or -errno (-EADDRINUSE, -EINVAL)
 * after logging one line. */
int http_open(struct http_server **ret, const char *listen, const char *web_config,
	      const struct http_source *src);
/* Starts a server at a unix socket for this user only, without a web config. Returns 0 or -errno;
 * the caller logs errors of the path, see listen_open_own(). */
int http_open_own(struct http_server **ret, const char *path, const struct http_source *src);
/* Returns the address in use, such as "127.0.0.1:9847" (port 0 was replaced). Valid until the
 * server is closed. */
const char *http_address(const struct http_server *h);
/* Returns true if other machines can connect without credentials. */
bool http_exposed(const struct http_server *h);
/* Returns the protection that the web config sets, such as "TLS and basic auth"; static text. */
const char *http_protection(const struct http_server *h);
/* Call about once a second, from any thread: shows that the caller is alive, and ends connections
 * that take too long. */
void http_tick(struct http_server *h);
void http_close(struct http_server *h);

#endif
