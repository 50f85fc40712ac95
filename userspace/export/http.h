/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - a small read-only HTTP server on its own thread: /metrics, /healthz, /readyz.
 * At most HTTP_CONNECTIONS connections; one that does nothing for HTTP_IDLE_S seconds is closed. */
#ifndef EXPORT_HTTP_H
#define EXPORT_HTTP_H

#include <stdint.h>

#include "userspace/base/buffer.h"

#define HTTP_CONNECTIONS 128
#define HTTP_IDLE_S	 5
#define HTTP_LISTEN	 "127.0.0.1:9847"

/* What is served. Called on the server's thread. */
struct http_source {
	void *ctx;
	const char *content_type;
	uint64_t (*version)(void *ctx); /* of what render would write; 0: nothing is known yet */
	void (*render)(void *ctx, struct buffer *out); /* once per version, whatever the number of clients */
};

struct http_server;
/* listen: ADDR:PORT, [V6]:PORT or unix:PATH; NULL: HTTP_LISTEN. 0 or -errno (-EADDRINUSE, -EINVAL) after
 * one line. src is copied. */
int http_open(struct http_server **ret, const char *listen, const struct http_source *src);
/* "127.0.0.1:9847": where it really listens (port 0 was replaced). Valid until closed. */
const char *http_address(const struct http_server *h);
void http_close(struct http_server *h);

#endif
