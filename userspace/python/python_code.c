/* SPDX-License-Identifier: Apache-2.0 */
/* python_code.c - names and lines of code objects. Results are cached by the address of the code
 * object and the pointers in it: a later code object at the same address has other pointers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/base/table.h"
#include "userspace/python/python_private.h"

#define OBJECT_TYPE 8  /* PyObject.ob_type */
#define OBJECT_SIZE 16 /* PyVarObject.ob_size */
#define BYTES_DATA  32 /* offset of PyBytesObject.ob_sval */
#define TEXT_LENGTH 16 /* offsets of PyASCIIObject.length and .state */
#define TEXT_STATE  32
/* Bits of PyASCIIObject.state: kind, compact, ascii */
#define TEXT_KIND(s) ((s) >> 2 & 7)
#define TEXT_COMPACT 0x20
#define TEXT_ASCII   0x40
#define CODE_MAX     (1ll << 30) /* limit of bytes of code of one function */

struct python_head { /* what identifies a code object */
	uint64_t address, function, file, lines;
	int64_t first; /* line */
};

/* A cached code object */
struct python_code {
	struct python_head head;
	int64_t at; /* byte of code for which `line` was found; -2: none yet */
	int line;
	char function[PYTHON_TEXT_MAX], file[PYTHON_TEXT_MAX];
};

static uint64_t python_word(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Reads a str. Returns false if it is not one. */
static bool python_code_text(struct python_process *p, uint64_t address, char ret[PYTHON_TEXT_MAX])
{
	uint8_t head[TEXT_STATE + 8], units[4 * PYTHON_TEXT_MAX];
	uint64_t length, data, state, bytes;
	unsigned int kind;

	if (!python_read_one(p, address, head, sizeof(head)))
		return false;
	length = python_word(head, TEXT_LENGTH);
	state = python_word(head, TEXT_STATE);
	kind = TEXT_KIND(state);
	if ((p->place.text_type && python_word(head, OBJECT_TYPE) != p->place.text_type) ||
	    (kind != 1 && kind != 2 && kind != 4) || length > INT32_MAX)
		return false;
	if (state & TEXT_COMPACT)
		data = address + (state & TEXT_ASCII ? p->at.text_ascii : p->at.text_compact);
	else if (!python_read_one(p, address + p->at.text_compact, &data, sizeof(data)))
		return false;
	length = length < PYTHON_TEXT_MAX ? length : PYTHON_TEXT_MAX;
	bytes = length * kind;
	if (bytes && !python_read_one(p, data, units, bytes))
		return false;
	python_text(ret, PYTHON_TEXT_MAX, units, kind, length);
	return true;
}

/* Returns the line of byte `at` of the code; 0: unknown. */
static int python_code_line(struct python_process *p, const struct python_head *head, int64_t at)
{
	uint64_t size;

	if (at < 0)
		return python_line(p->at.lines, NULL, 0, (int)head->first, at);
	if (!python_read_one(p, head->lines + OBJECT_SIZE, &size, sizeof(size)))
		return 0;
	size = size < PYTHON_LINES_MAX ? size : PYTHON_LINES_MAX;
	if (size && !python_read_one(p, head->lines + BYTES_DATA, p->lines, size))
		return 0;
	return python_line(p->at.lines, p->lines, size, (int)head->first, at);
}

/* Finds the offset in bytes, from the start of the code, of the instruction at which a frame is;
 * -1: the frame has not begun. Returns false if the offset is outside of the code. */
static bool python_code_at(const struct python_process *p, const struct python_frame_link *link,
			   const uint8_t *object, int64_t *ret)
{
	uint64_t begin = link->code + p->at.code_instructions, units;

	/* `last` is a number in its lower 32 bits, not an address */
	if (!p->at.code_instructions) {
		*ret = (int64_t)(int32_t)link->last * p->at.last_unit;
		return *ret >= -2 && *ret < CODE_MAX;
	}
	units = python_word(object, OBJECT_SIZE);
	*ret = (int64_t)(link->last - begin);
	return *ret >= -2 && *ret < CODE_MAX && (*ret < 0 || (uint64_t)*ret < 2 * units);
}

static struct python_code *python_code_find(struct python_process *p,
					    const struct python_head *head)
{
	uint64_t key = hash_bytes(HASH_START, head, sizeof(*head));
	struct python_code *c = table_get(p->codes, key);

	if (c)
		return memcmp(&c->head, head, sizeof(*head)) ? NULL : c;
	c = table_count(p->codes) < 2 * PYTHON_CODES_MAX ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return NULL;
	c->head = *head;
	c->at = -2;
	if (!python_code_text(p, head->function, c->function) ||
	    !python_code_text(p, head->file, c->file) || table_put(p->codes, key, c)) {
		free(c);
		return NULL;
	}
	return c;
}

static bool python_code_name(struct python_process *p, const struct python_frame_link *link,
			     const uint8_t *object, struct python_frame *ret)
{
	struct python_head head;
	struct python_code *c;
	int32_t first;
	int64_t at;

	*ret = (struct python_frame){"?", "?", 0};
	if ((p->place.code_type && python_word(object, OBJECT_TYPE) != p->place.code_type) ||
	    !python_code_at(p, link, object, &at))
		return false;
	memcpy(&first, object + p->at.code_first, sizeof(first));
	head = (struct python_head){
		.address = link->code,
		.function = python_word(object, p->at.code_function),
		.file = python_word(object, p->at.code_file),
		.lines = python_word(object, p->at.code_lines),
		.first = first,
	};
	c = python_code_find(p, &head);
	if (!c)
		return false;
	if (c->at != at || at < 0) {
		c->line = python_code_line(p, &head, at);
		c->at = at;
	}
	*ret = (struct python_frame){c->function, c->file, c->line};
	return true;
}

bool python_codes_name(struct python_process *p, const struct python_frame_link *const *links,
		       struct python_frame *frames, size_t n)
{
	struct python_range ranges[PYTHON_FRAMES_MAX] = {0};
	bool all = true, together;

	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct python_range){links[i]->code, p->heads[i], p->code_bytes};
	together = python_read(p, ranges, n);
	for (size_t i = 0; i < n; i++) {
		if (!together && !python_read(p, &ranges[i], 1))
			memset(p->heads[i], 0, sizeof(p->heads[i]));
		all &= python_code_name(p, links[i], p->heads[i], &frames[i]);
	}
	return all;
}

int python_codes_trim(struct python_process *p)
{
	if (p->codes && table_count(p->codes) < PYTHON_CODES_MAX)
		return 0;
	table_free(p->codes, free);
	p->codes = table_new();
	return p->codes ? 0 : -ENOMEM;
}

void python_codes_free(struct python_process *p)
{
	table_free(p->codes, free);
}
