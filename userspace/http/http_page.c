/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_page.h"

#include <zlib.h>

#define PAGE_GZIP_MIN 512 /* bytes; smaller documents are not compressed */
/* zlib's fastest level. It compresses a page of 3.0 MB (512 processes) to 5.3 % in 5 ms; level 6
 * compresses it to 4.6 % in 22 ms. */
#define PAGE_GZIP_LEVEL	 1
#define PAGE_GZIP_WINDOW (15 + 16) /* zlib's windowBits: largest window (15), gzip header (16) */
#define PAGE_GZIP_MEMORY 8

static void page_drop(struct http_page *page)
{
	if (page->gzip)
		MHD_destroy_response(page->gzip);
	if (page->plain)
		MHD_destroy_response(page->plain);
	*page = (struct http_page){0};
}

/* Makes a response, which owns the content of out from now on. */
static struct MHD_Response *page_response(struct buffer *out, const struct http_page_row *row)
{
	struct MHD_Response *r = NULL;

	if (!out->failed && out->data)
		r = MHD_create_response_from_buffer(out->len, out->data, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		buffer_free(out);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, row->content_type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	row->headers(row->ctx, r);
	return r;
}

static void page_compress(struct buffer *out, const char *data, size_t len)
{
	z_stream z = {0};
	uLong bound;

	out->failed = deflateInit2(&z, PAGE_GZIP_LEVEL, Z_DEFLATED, PAGE_GZIP_WINDOW,
				   PAGE_GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK;
	if (out->failed)
		return;
	bound = deflateBound(&z, len);
	z.next_in = (z_const Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)buffer_reserve(out, bound);
	z.avail_out = (uInt)bound;
	if (z.next_out && deflate(&z, Z_FINISH) == Z_STREAM_END)
		out->len += bound - z.avail_out;
	else
		out->failed = true;
	deflateEnd(&z);
}

static bool page_render(struct http_page *page, int which, const struct http_page_row *row,
			uint64_t version)
{
	struct buffer out = {0};
	const char *data;
	size_t len;

	row->render(row->ctx, which, &out);
	data = out.data;
	len = out.len;
	page->plain = page_response(&out, row);
	if (!page->plain)
		return false;
	page->data = data;
	page->len = len;
	page->version = version;
	return true;
}

struct MHD_Response *http_page(struct http_pages *p, int which, const struct http_page_row *row,
			       uint64_t version, bool gzip)
{
	struct http_page *page = &p->page[which];
	struct buffer out = {0};

	for (int i = 0; i < HTTP_PAGES; i++)
		if (!version || p->page[i].version != version) /* version 0: do not cache */
			page_drop(&p->page[i]);
	if (!page->plain && !page_render(page, which, row, version))
		return NULL;
	if (!gzip || page->len < PAGE_GZIP_MIN || page->len > UINT32_MAX / 2)
		return page->plain;
	if (!page->gzip) {
		page_compress(&out, page->data, page->len);
		page->gzip = page_response(&out, row);
		if (page->gzip)
			MHD_add_response_header(page->gzip, MHD_HTTP_HEADER_CONTENT_ENCODING,
						"gzip");
	}
	return page->gzip ? page->gzip : page->plain;
}

void http_pages_clear(struct http_pages *p)
{
	for (int i = 0; i < HTTP_PAGES; i++)
		page_drop(&p->page[i]);
}
