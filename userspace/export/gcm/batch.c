/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/grow.h"

#define DEPTH_MAX 32
static const char head[] = "{\"timeSeries\":[";
static const char tail[] = "]}";

void batch_free(struct batch *p)
{
	buffer_free(&p->text);
	free(p->item);
	*p = (struct batch){0};
}

void batch_clear(struct batch *p)
{
	buffer_clear(&p->text);
	p->count = 0;
}

int batch_add(struct batch *p, const struct batch_point *point, const char *text, size_t len)
{
	struct batch_point *item;

	if (p->count == BATCH_MAX || len > REQUEST_BYTES || p->text.len > UINT32_MAX / 2)
		return -E2BIG;
	item = grow_items(p->item, &p->cap, p->count + 1, BATCH_MAX, sizeof(*item));
	if (!item)
		return -ENOMEM;
	p->item = item;
	item += p->count;
	*item = *point;
	item->at = (uint32_t)p->text.len;
	item->len = (uint32_t)len;
	buffer_add(&p->text, text, len);
	if (p->text.failed) {
		p->text.failed = false; /* the points added before stay valid */
		return -ENOMEM;
	}
	p->count++;
	return 0;
}

void batch_sweep(struct batch *p)
{
	uint32_t n = 0;
	size_t to = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		struct batch_point *from = &p->item[i];

		if (from->gone)
			continue;
		memmove(p->text.data + to, p->text.data + from->at, from->len);
		from->at = (uint32_t)to;
		to += from->len;
		p->item[n++] = *from;
	}
	p->count = n;
	p->text.len = to;
}

uint32_t batch_body(const struct batch *p, uint32_t *at, bool cumulative, struct buffer *body,
		    uint32_t ret_item[REQUEST_SERIES])
{
	uint32_t n = 0, most = REQUEST_SERIES;
	const struct batch_point *item;

	buffer_clear(body);
	buffer_add(body, head, sizeof(head) - 1);
	for (; *at < p->count && n < most; (*at)++) {
		item = &p->item[*at];
		if (item->gone || (cumulative && !item->cumulative))
			continue;
		if (item->most && item->most < most)
			most = item->most;
		if (n >= most)
			break;
		if (n && body->len + 1 + item->len + sizeof(tail) > REQUEST_BYTES)
			break;
		if (n)
			buffer_add(body, ",", 1);
		buffer_add(body, p->text.data + item->at, item->len);
		ret_item[n++] = *at;
	}
	buffer_add(body, tail, sizeof(tail) - 1);
	return body->failed ? 0 : n;
}

/* Returns the position after the JSON object that begins at `at`; NULL: unbalanced brackets or an
 * unterminated string. */
static const char *batch_object_end(const char *at, const char *end)
{
	char close[DEPTH_MAX];
	unsigned depth = 0;
	bool text = false;

	for (; at < end; at++) {
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (text) {
			if (*at == '\\')
				at++;
			else
				text = *at != '"';
			continue;
		}
		if (*at == '"') {
			text = true;
		} else if (*at == '{' || *at == '[') {
			if (depth == DEPTH_MAX)
				return NULL;
			close[depth++] = *at == '{' ? '}' : ']';
		} else if (*at == '}' || *at == ']') {
			if (!depth || close[--depth] != *at)
				return NULL;
			if (!depth)
				return at + 1;
		}
	}
	return NULL;
}

bool batch_whole(const char *text, size_t len)
{
	return len && *text == '{' && batch_object_end(text, text + len) == text + len;
}

int batch_split(const char *body, size_t len, struct batch_piece *ret, uint32_t max)
{
	const char *at = body + sizeof(head) - 1, *end = body + len, *next;
	uint32_t n = 0;

	if (len < sizeof(head) + sizeof(tail) - 2 || memcmp(body, head, sizeof(head) - 1))
		return -EBADMSG;
	while (at < end && *at == '{') {
		next = batch_object_end(at, end);
		if (!next || n == max)
			return -EBADMSG;
		ret[n++] = (struct batch_piece){at, (size_t)(next - at)};
		at = next;
		if (at == end || *at != ',')
			break;
		at++;
	}
	if ((size_t)(end - at) != sizeof(tail) - 1 || memcmp(at, tail, sizeof(tail) - 1) ||
	    (n && at[-1] == ','))
		return -EBADMSG;
	return (int)n;
}
