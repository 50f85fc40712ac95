/* SPDX-License-Identifier: Apache-2.0 */
/* pods_stream.c - splits a reply of any length into JSON objects, so that only one of them is in
 * memory. It recognises brackets, strings, and the keys "items" and "metadata" of a list; the
 * receiver parses the objects. */
#include <string.h>

#include "userspace/kubernetes/pods_private.h"

void pods_stream_free(struct pods_stream *s)
{
	buffer_free(&s->text);
	memset(s, 0, sizeof(*s));
}

static void stream_keep(struct pods_stream *s, const char *data, size_t len)
{
	if (s->too_long)
		return;
	if (s->text.len + len > PODS_OBJECT_MAX) {
		s->too_long = true;
		buffer_clear(&s->text);
		return;
	}
	buffer_add(&s->text, data, len);
}

/* Passes a complete object to a callback. */
static bool stream_give(struct pods_stream *s, bool (*give)(void *ctx, char *text, size_t len))
{
	bool go_on = !s->text.failed;

	s->skipped += s->too_long;
	if (go_on && !s->too_long && s->text.len) {
		s->objects++;
		go_on = give(s->ctx, s->text.data, s->text.len);
	}
	buffer_clear(&s->text);
	s->too_long = false;
	return go_on;
}

/* ---- lines */

static bool stream_lines(struct pods_stream *s, const char *data, size_t len)
{
	const char *end;
	size_t n;

	while (len) {
		end = memchr(data, '\n', len);
		n = end ? (size_t)(end - data) : len;
		stream_keep(s, data, n);
		if (!end)
			break;
		if (!stream_give(s, s->object))
			return false;
		data += n + 1;
		len -= n + 1;
	}
	return !s->text.failed;
}

bool pods_stream_end(struct pods_stream *s)
{
	return s->list || stream_give(s, s->object);
}

/* ---- a list */

static void stream_string(struct pods_stream *s, char c)
{
	if (s->escaped) {
		s->escaped = false;
	} else if (c == '\\') {
		s->escaped = true;
	} else if (c == '"') {
		s->quoted = false;
		return;
	}
	/* Collect a key of the outermost object. Keys that do not fit are longer than "items" and
	 * "metadata", so they can be cut. */
	if (s->depth == 1 && !s->value && s->key_len < sizeof(s->key))
		s->key[s->key_len++] = c;
}

static bool stream_is_key(const struct pods_stream *s, const char *name)
{
	return s->key_len == strlen(name) && !memcmp(s->key, name, s->key_len);
}

static void stream_open(struct pods_stream *s, char c)
{
	s->depth++;
	if (s->inside)
		return;
	if (s->depth == 2 && s->value && c == '[' && stream_is_key(s, "items"))
		s->items_depth = 2;
	else if ((s->depth == 2 && s->value && c == '{' && stream_is_key(s, "metadata")) ||
		 (s->items_depth == 2 && s->depth == 3 && c == '{'))
		s->inside = true;
}

/* Handles a closing bracket. Returns false if a callback returned false, or if no bracket is
 * open. */
static bool stream_close(struct pods_stream *s, const char *from, const char *at)
{
	bool meta = s->items_depth != 2;

	if (!s->depth)
		return false;
	s->depth--;
	if (s->inside && s->depth == (meta ? 1u : 2u)) {
		stream_keep(s, from, (size_t)(at - from) + 1);
		s->inside = false;
		return stream_give(s, meta ? s->meta : s->object);
	}
	if (s->items_depth == 2 && s->depth == 1)
		s->items_depth = 0;
	return true;
}

static bool stream_mark(struct pods_stream *s, const char **from, const char *at)
{
	bool was = s->inside;

	switch (*at) {
	case '"':
		s->quoted = true;
		if (s->depth == 1 && !s->value)
			s->key_len = 0;
		return true;
	case '{':
	case '[':
		stream_open(s, *at);
		if (!was && s->inside)
			*from = at;
		return true;
	case '}':
	case ']':
		return stream_close(s, *from, at);
	case ':':
	case ',':
		if (s->depth == 1)
			s->value = *at == ':';
		return true;
	default:
		return true;
	}
}

static bool stream_list(struct pods_stream *s, const char *data, size_t len)
{
	const char *from = data;

	for (const char *at = data; at < data + len; at++) {
		if (s->quoted)
			stream_string(s, *at);
		else if (!stream_mark(s, &from, at))
			return false;
	}
	if (s->inside)
		stream_keep(s, from, (size_t)(data + len - from));
	return !s->text.failed;
}

bool pods_stream_feed(struct pods_stream *s, const char *data, size_t len)
{
	s->bytes += len;
	if (!s->list)
		return stream_lines(s, data, len);
	return s->bytes <= PODS_LIST_MAX && stream_list(s, data, len);
}
