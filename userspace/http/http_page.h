/* SPDX-License-Identifier: Apache-2.0 */
/* http_page.h - caches documents as HTTP responses: each document is rendered and compressed once
 * for a version of its data, whatever the number of clients. At most one version of each document
 * is kept. Single-threaded. */
#ifndef HTTP_HTTP_PAGE_H
#define HTTP_HTTP_PAGE_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define HTTP_PAGES 3

/* How to make the response for a document. */
struct http_page_row {
	const char *content_type;
	void (*render)(void *ctx, int which, struct buffer *out);
	/* adds the headers that every answer has */
	void (*headers)(void *ctx, struct MHD_Response *r);
	void *ctx;
};

struct http_page {
	struct MHD_Response *plain, *gzip;
	const char *data; /* points into plain */
	size_t len;
	uint64_t version;
};

struct http_pages {
	struct http_page page[HTTP_PAGES];
};

/* Returns the document as a response, valid until the next call; a client that is receiving it
 * keeps a reference. NULL: no memory. */
struct MHD_Response *http_page(struct http_pages *p, int which, const struct http_page_row *row,
			       uint64_t version, bool gzip);
void http_pages_clear(struct http_pages *p);

#endif
