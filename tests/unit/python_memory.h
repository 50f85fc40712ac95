/* SPDX-License-Identifier: Apache-2.0 */
/* python_memory.h - memory of a made-up process with CPython 3.12 in it, for the unit test and the
 * fuzz target of userspace/python. It is hostile where a test writes into it. */
#ifndef TESTS_UNIT_PYTHON_MEMORY_H
#define TESTS_UNIT_PYTHON_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "userspace/python/python_private.h"

#define MEMORY_BEGIN 0x10000ull
#define MEMORY_SIZE  0x8000u
/* Where things are in it. */
#define AT_RUNTIME     0x10000ull
#define AT_INTERPRETER 0x10800ull
#define AT_THREAD      0x11000ull
#define AT_CFRAME      0x11200ull
#define AT_GIL	       0x11300ull
#define AT_CODE_TYPE   0x11400ull
#define AT_TEXT_TYPE   0x11500ull
#define AT_FRAME(n)    (0x12000ull + 0x80 * (n)) /* the outermost is 0 */
#define AT_CODE(n)     (0x14000ull + 0x100 * (n))
#define AT_TEXT(n)     (0x15000ull + 0x100 * (n))
#define AT_LINES       0x17000ull

struct python_memory {
	uint8_t bytes[MEMORY_SIZE];
	uint32_t reads;
	/* Called after each reading of ranges, if not NULL: the process runs on. */
	void (*run)(struct python_memory *m);
};

static inline void memory_put(struct python_memory *m, uint64_t address, const void *data, size_t n)
{
	memcpy(m->bytes + (address - MEMORY_BEGIN), data, n);
}

static inline void memory_word(struct python_memory *m, uint64_t address, uint64_t word)
{
	memory_put(m, address, &word, sizeof(word));
}

static inline bool python_memory_get(void *ctx, const struct python_range *ranges, size_t n)
{
	struct python_memory *m = ctx;
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		uint64_t at = ranges[i].address - MEMORY_BEGIN;

		ok = at < MEMORY_SIZE && ranges[i].bytes <= MEMORY_SIZE - at;
		if (ok)
			memcpy(ranges[i].to, m->bytes + at, ranges[i].bytes);
	}
	m->reads += (uint32_t)n;
	if (m->run)
		m->run(m);
	return ok;
}

/* A str; state: kind, compact, ascii. data: of a str that is not compact, its address. */
static inline void memory_text(struct python_memory *m, uint64_t at, uint64_t length,
			       uint32_t state, const void *units, size_t bytes)
{
	uint64_t data = at + (state & 0x40 ? 40 : 56);

	memory_word(m, at + 8, AT_TEXT_TYPE);
	memory_word(m, at + 16, length);
	memory_word(m, at + 32, state);
	if (!(state & 0x20)) {
		memory_word(m, at + 56, at + 80);
		data = at + 80;
	}
	memory_put(m, data, units, bytes);
}
#define TEXT_ASCII(kind) ((kind) << 2 | 0x60u)
#define TEXT_WIDE(kind)	 ((kind) << 2 | 0x20u)

static inline void memory_frame(struct python_memory *m, uint64_t at, uint64_t previous,
				uint64_t code, uint64_t instruction)
{
	memory_word(m, at, code);
	memory_word(m, at + 8, previous);
	memory_word(m, at + 56, code + 192 + 2 * instruction);
	m->bytes[at - MEMORY_BEGIN + 70] = 0;
}

/* One thread in inner() (line 12), called by outer() (line 11) of file.py. */
static inline void memory_make(struct python_memory *m)
{
	static const uint8_t lines[] = {0x80, 0x00, 0xd9, 0x00, 0x00, 0xd9, 0x00, 0x00};
	static const char *const names[] = {"outer", "inner"};
	uint32_t locked = 1;

	memset(m, 0, sizeof(*m));
	memory_word(m, AT_RUNTIME + 40, AT_INTERPRETER);
	memory_word(m, AT_INTERPRETER + 72, AT_THREAD);
	memory_word(m, AT_INTERPRETER + 384, AT_GIL);
	memory_word(m, AT_GIL + 8, AT_THREAD);
	memory_put(m, AT_GIL + 16, &locked, sizeof(locked));
	memory_word(m, AT_THREAD + 16, AT_INTERPRETER);
	memory_word(m, AT_THREAD + 56, AT_CFRAME);
	memory_word(m, AT_THREAD + 136, 0x7f0000001000);
	memory_word(m, AT_THREAD + 144, 4321);
	memory_word(m, AT_CFRAME, AT_FRAME(2));
	memory_frame(m, AT_FRAME(0), 0, AT_CODE(0), 1);
	memory_frame(m, AT_FRAME(1), AT_FRAME(0), AT_CODE(0), 1);
	m->bytes[AT_FRAME(1) - MEMORY_BEGIN + 70] = 3; /* a call through C */
	memory_frame(m, AT_FRAME(2), AT_FRAME(1), AT_CODE(1), 3);
	for (uint64_t i = 0; i < 2; i++) {
		int32_t first = 10;

		memory_word(m, AT_CODE(i) + 8, AT_CODE_TYPE);
		memory_word(m, AT_CODE(i) + 16, 8);
		memory_put(m, AT_CODE(i) + 68, &first, sizeof(first));
		memory_word(m, AT_CODE(i) + 112, AT_TEXT(2));
		memory_word(m, AT_CODE(i) + 128, AT_TEXT(i));
		memory_word(m, AT_CODE(i) + 136, AT_LINES);
		memory_text(m, AT_TEXT(i), 5, TEXT_ASCII(1), names[i], 5);
	}
	memory_text(m, AT_TEXT(2), 7, TEXT_ASCII(1), "file.py", 7);
	/* one instruction in line 10, two in line 11, two in line 12: kind 11 adds a line */
	memory_word(m, AT_LINES + 16, sizeof(lines));
	memory_put(m, AT_LINES + 32, lines, sizeof(lines));
}

static inline struct python_place memory_place(void)
{
	return (struct python_place){.runtime = AT_RUNTIME,
				     .code_type = AT_CODE_TYPE,
				     .text_type = AT_TEXT_TYPE,
				     .version = PYTHON_VERSION(3, 12)};
}

#endif
