/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_frame.h"

#include <string.h>

#include "userspace/ingest/goodput_source.h"

static const char no_object[] = "not a JSON object";

void goodput_frame_start(struct goodput_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->line = 1;
}

void goodput_frame_feed(struct goodput_frame *f, const char *at, const char *end)
{
	f->at = at;
	f->end = end;
}

void goodput_frame_pass(struct goodput_frame *f, size_t len)
{
	const char *to = f->at + len, *p;

	for (p = f->at; (p = memchr(p, '\n', (size_t)(to - p))); p++)
		f->line++;
	f->at = to;
	f->seen = 0;
}

/* Returns the end of an array element that is not an object: the position of its comma, or the end
 * of the array or line. */
static const char *frame_value_end(const char *p, const char *end)
{
	while (p < end && *p != ',' && *p != ']' && *p != '{' && *p != '\n')
		p++;
	return p;
}

static bool frame_skip(struct goodput_frame *f)
{
	const char *stop;

	if (f->skip == SKIP_LINE)
		stop = memchr(f->at, '\n', (size_t)(f->end - f->at));
	else
		stop = frame_value_end(f->at, f->end);
	if (!stop || stop == f->end) {
		f->at = f->end;
		return false;
	}
	f->at = stop;
	f->skip = SKIP_NOTHING;
	return true;
}

/* Skips separators. Returns the first byte of an entry; f->end if the available bytes contain no
 * entry. */
static const char *frame_between(struct goodput_frame *f)
{
	const char *p;

	for (p = f->at; p < f->end; p++) {
		switch (*p) {
		case '\n':
			f->line++;
			break;
		case ' ':
		case '\t':
		case '\r':
		case '\0':
		case ',':
		case '\xef': /* U+FEFF, by bytes: the input may be split in between */
		case '\xbb':
		case '\xbf':
			break;
		case '[':
			if (f->in_array)
				return p;
			f->in_array = true;
			break;
		case ']':
			if (!f->in_array)
				return p;
			f->in_array = false;
			break;
		default:
			return p;
		}
	}
	return p;
}

bool goodput_frame_begin(struct goodput_frame *f)
{
	if (f->seen)
		return true;
	for (;;) {
		if (f->skip != SKIP_NOTHING && !frame_skip(f))
			return false;
		f->at = frame_between(f);
		if (f->at == f->end)
			return false;
		if (!f->torn || *f->at == '{')
			return true;
		f->skip = SKIP_LINE; /* skip the rest of an entry that was reported as broken */
	}
}

static bool frame_level_array(const struct goodput_frame *f)
{
	return f->depth && (f->arrays[(f->depth - 1) / 64] >> (f->depth - 1) % 64 & 1);
}

/* Handles an opening bracket. If no value may begin there, the entry was cut off and another entry
 * begins. */
static const char *frame_level_open(struct goodput_frame *f, char c)
{
	uint64_t bit = 1ull << f->depth % 64, *word = &f->arrays[f->depth / 64];

	if (f->depth && f->last != ':' &&
	    !(frame_level_array(f) && (f->last == ',' || f->last == '[')))
		return "ends in the middle";
	if (f->depth == GOODPUT_DEPTH_MAX)
		return "nested too deeply";
	*word = c == '[' ? *word | bit : *word & ~bit;
	f->depth++;
	return NULL;
}

static const char *frame_level_close(struct goodput_frame *f, char c)
{
	if (frame_level_array(f) != (c == ']'))
		return "brackets do not match";
	f->depth--;
	return NULL;
}

/* Continues a string at p. Returns the position after which it does not continue: its closing
 * quote, a NUL byte, or the end of the line or of the available bytes. */
static const char *frame_text_pass(struct goodput_frame *f, const char *p, const char *end)
{
	for (; p < end && *p != '\n' && *p; p++) {
		if (f->escaped) {
			f->escaped = false;
		} else if (*p == '\\') {
			f->escaped = true;
		} else if (*p == '"') {
			f->in_text = false;
			return p + 1;
		}
	}
	return p;
}

static const char *frame_byte(struct goodput_frame *f, const char *p)
{
	const char *why = NULL;

	switch (*p) {
	case '\n':
		f->line_start = (size_t)(p - f->at) + 1;
		return NULL;
	case ' ':
	case '\t':
	case '\r':
		return NULL;
	case '\0':
		return "ends in the middle";
	case '"':
		f->in_text = true;
		break;
	case '{':
	case '[':
		why = frame_level_open(f, *p);
		break;
	case '}':
	case ']':
		why = frame_level_close(f, *p);
		break;
	default:
		break;
	}
	f->last = *p;
	return why;
}

/* Scans until the entry ends (depth 0), the available bytes end, or there is an error
 * (*ret_why). */
static const char *frame_walk(struct goodput_frame *f, const char **ret_why)
{
	const char *p = f->at + f->seen, *end = f->end, *why = NULL;

	if (end - f->at > GOODPUT_ENTRY_MAX)
		end = f->at + GOODPUT_ENTRY_MAX;
	while (p < end && !why) {
		if (f->in_text) {
			p = frame_text_pass(f, p, end);
			if (p < end && f->in_text)
				why = "a string has no end";
			continue;
		}
		why = frame_byte(f, p);
		if (why)
			break;
		p++;
		if (!f->depth)
			return p;
	}
	if (!why && p - f->at == GOODPUT_ENTRY_MAX)
		why = "longer than 1 MiB";
	*ret_why = why;
	return p;
}

/* Skips a broken entry. p: position of the error. A NUL byte at p means that the file has a hole,
 * and that the next entry begins after the hole. */
static void frame_break(struct goodput_frame *f, const char *p)
{
	if (p < f->end && !*p) {
		goodput_frame_pass(f, (size_t)(p - f->at));
		return;
	}
	if (f->line_start) {
		goodput_frame_pass(f, f->line_start);
		f->torn = true;
		return;
	}
	f->at = p;
	f->seen = 0;
	f->skip = SKIP_LINE;
}

enum goodput_framed goodput_frame_scan(struct goodput_frame *f, size_t *ret_len,
				       const char **ret_why)
{
	const char *p, *why = NULL;

	if (!f->seen) {
		if (*f->at != '{' && *f->at != '[') {
			*ret_why = no_object;
			f->skip = f->in_array ? SKIP_VALUE : SKIP_LINE;
			return FRAME_BROKEN;
		}
		f->line_start = 0;
		f->in_text = f->escaped = f->torn = false;
		f->depth = 0;
	}
	p = frame_walk(f, &why);
	if (why) {
		frame_break(f, p);
		*ret_why = why;
		return FRAME_BROKEN;
	}
	f->seen = (size_t)(p - f->at);
	if (f->depth)
		return FRAME_MORE;
	if (*f->at == '[') {
		goodput_frame_pass(f, f->seen);
		*ret_why = no_object;
		return FRAME_BROKEN;
	}
	*ret_len = f->seen;
	return FRAME_ENTRY;
}

bool goodput_frame_open(const struct goodput_frame *f)
{
	return f->seen || f->in_array;
}
