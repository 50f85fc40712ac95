/* SPDX-License-Identifier: Apache-2.0 */
/* python_offsets.c - offsets of members in CPython's structures, for each version. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "userspace/python/python_private.h"

#define MINOR_FIRST   8
#define MINOR_TABLE   12 /* last minor version in the table; later ones have _Py_DebugOffsets */
#define MINOR_LAST    14
#define DEBUG_COOKIE  "xdebugpy"
#define DEBUG_WORDS   128 /* number of words of _Py_DebugOffsets that are read */
#define DEBUG_VERSION 1	  /* index of the word with the version of Python */
#define DEBUG_FREE    2
#define OFFSET_MAX    (1u << 20)
/* Index of the word of _Py_DebugOffsets that has the offset of
 * interpreter_state.gil_runtime_state */
#define DEBUG_GIL_3_13 15
#define DEBUG_GIL_3_14 16
/* Indexes of the words that have the offsets of interpreter_state.gc and gc.collecting */
#define DEBUG_GC_3_13	      10
#define DEBUG_GC_3_14	      11
#define DEBUG_COLLECTING_3_13 72
#define DEBUG_COLLECTING_3_14 82

/* The numbers are offsetof() and sizeof in a program that includes the internal headers of the
 * version named in each row (with Py_BUILD_CORE), on x86_64 and aarch64; CPython changes none of
 * these structures within a minor version. struct python_offsets says which member of which
 * structure each is. */
/* Additional bytes before .gilstate: the two mutexes there have 40 bytes each on x86_64, and more
 * on other machines. */
#define MUTEXES	    (2 * (sizeof(pthread_mutex_t) - 40))
#define ROW_OBJECTS /* 3.8 to 3.10: frames are objects */                                          \
	.runtime_interpreters = 32, .interpreter_next = 0, .interpreter_threads = 8,               \
	.thread_next = 8, .thread_interpreter = 16, .thread_frame = 24, .thread_pthread = 176,     \
	.frame_previous = 24, .frame_code = 32, .code_first = 40, .code_file = 104,                \
	.code_function = 112, .code_lines = 120, .text_ascii = 48, .text_compact = 72
#define ROW_CFRAME /* 3.11 and 3.12 */                                                             \
	.runtime_interpreters = 40, .interpreter_next = 0, .thread_next = 8,                       \
	.thread_interpreter = 16, .thread_has_cframe = true, .thread_frame = 56, .frame_last = 56, \
	.code_file = 112, .code_function = 128, .code_lines = 136, .lines = PYTHON_LOCATIONS
static const struct python_offsets offsets_table[] = {
	/* 3.8.18 */
	{ROW_OBJECTS, .runtime_collecting = 544, .runtime_holder = 1368 + MUTEXES,
	 .frame_last = 104, .last_unit = 1, .lines = PYTHON_LNOTAB},
	/* 3.9.18 */
	{ROW_OBJECTS, .interpreter_collecting = 816, .runtime_holder = 568 + MUTEXES,
	 .frame_last = 104, .last_unit = 1, .lines = PYTHON_LNOTAB},
	/* 3.10.13: f_lasti counts instructions of two bytes */
	{ROW_OBJECTS, .interpreter_collecting = 816, .runtime_holder = 568 + MUTEXES,
	 .frame_last = 96, .last_unit = 2, .lines = PYTHON_LINETABLE},
	/* 3.11.7 */
	{ROW_CFRAME, .interpreter_collecting = 848, .runtime_holder = 576 + MUTEXES,
	 .interpreter_threads = 16, .thread_pthread = 152, .thread_native = 160, .cframe_frame = 8,
	 .frame_previous = 48, .frame_code = 32, .frame_owner = 69, .code_first = 72,
	 .code_instructions = 184, .text_ascii = 48, .text_compact = 72},
	/* 3.12.1; the 3 of owner_c is FRAME_OWNED_BY_CSTACK */
	{ROW_CFRAME, .interpreter_collecting = 312, .interpreter_threads = 72,
	 .interpreter_gil = 384, .gil_holder = 8, .gil_locked = 16, .thread_pthread = 136,
	 .thread_native = 144, .cframe_frame = 0, .frame_previous = 8, .frame_code = 0,
	 .frame_owner = 70, .owner_c = 3, .code_first = 68, .code_instructions = 192,
	 .text_ascii = 40, .text_compact = 56},
};

/* For each offset, the index of the word of _Py_DebugOffsets that has it, by the declarations of
 * struct _Py_DebugOffsets in 3.13.0 and 3.14.10. */
static const struct {
	size_t field; /* offset of the member in struct python_offsets */
	uint8_t in_3_13, in_3_14;
} debug_words[] = {
#define WORD(name, in_3_13, in_3_14)                                                               \
	{                                                                                          \
		offsetof(struct python_offsets, name), in_3_13, in_3_14                            \
	}
	WORD(runtime_interpreters, 5, 5), /* runtime_state.interpreters_head */
	WORD(interpreter_next, 8, 8),	  /* interpreter_state.next */
	WORD(interpreter_threads, 9, 9),  /* .threads_head */
	WORD(interpreter_gil, 14, 15),	  /* .ceval_gil */
	WORD(gil_locked, 17, 18),	  /* .gil_runtime_state_locked */
	WORD(gil_holder, 18, 19),	  /* .gil_runtime_state_holder */
	WORD(thread_next, 21, 24),	  /* thread_state.next */
	WORD(thread_interpreter, 22, 25), /* .interp */
	WORD(thread_frame, 23, 26),	  /* .current_frame */
	WORD(thread_pthread, 24, 27),	  /* .thread_id */
	WORD(thread_native, 25, 28),	  /* .native_thread_id */
	WORD(frame_previous, 29, 32),	  /* interpreter_frame.previous */
	WORD(frame_code, 30, 33),	  /* .executable */
	WORD(frame_last, 31, 34),	  /* .instr_ptr */
	WORD(frame_owner, 33, 36),	  /* .owner */
	WORD(code_file, 35, 40),	  /* code_object.filename */
	WORD(code_function, 37, 42),	  /* .qualname */
	WORD(code_lines, 38, 43),	  /* .linetable */
	WORD(code_first, 39, 44),	  /* .firstlineno */
	WORD(code_instructions, 43, 48),  /* .co_code_adaptive */
	WORD(text_ascii, 70, 80),	  /* unicode_object.asciiobject_size */
#undef WORD
};

bool python_offsets_begin(const uint8_t *bytes, size_t len)
{
	uint64_t version;

	if (len < 16 || memcmp(bytes, DEBUG_COOKIE, 8) != 0)
		return false;
	memcpy(&version, bytes + 8, sizeof(version));
	return version >> 24 == 3;
}

static int python_offsets_refuse(uint32_t version, char why[PYTHON_WHY_MAX])
{
	if (version)
		snprintf(why, PYTHON_WHY_MAX, "CPython %u.%u: only 3.%d to 3.%d can be read",
			 version >> 24, version >> 16 & 0xff, MINOR_FIRST, MINOR_LAST);
	else
		snprintf(why, PYTHON_WHY_MAX, "CPython of an unknown version");
	return -ENOTSUP;
}

/* Checks the offsets: a frame or code object is read in one piece, so each offset must be within
 * the piece. */
static bool python_offsets_fit(const struct python_offsets *o)
{
	uint32_t frame[] = {o->frame_previous, o->frame_code, o->frame_last, o->frame_owner};
	uint32_t code[] = {o->code_file, o->code_function, o->code_lines, o->code_first};

	for (size_t i = 0; i < sizeof(frame) / sizeof(*frame); i++) {
		if (frame[i] > PYTHON_FRAME_BYTES - 8)
			return false;
	}
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++) {
		if (code[i] > PYTHON_CODE_BYTES - 8)
			return false;
	}
	return o->text_ascii >= 40 && o->text_ascii <= 64;
}

static int python_offsets_debug(const uint64_t *words, uint32_t minor, struct python_offsets *ret,
				char why[PYTHON_WHY_MAX])
{
	uint64_t gil = words[minor == 13 ? DEBUG_GIL_3_13 : DEBUG_GIL_3_14], gc, collecting;

	if (words[DEBUG_FREE]) {
		snprintf(why, PYTHON_WHY_MAX, "CPython 3.%u without a global interpreter lock",
			 minor);
		return -ENOTSUP;
	}
	*ret = (struct python_offsets){.owner_c = 3, .lines = PYTHON_LOCATIONS};
	for (size_t i = 0; i < sizeof(debug_words) / sizeof(*debug_words); i++) {
		uint64_t value =
			words[minor == 13 ? debug_words[i].in_3_13 : debug_words[i].in_3_14];
		uint32_t offset = value < OFFSET_MAX ? (uint32_t)value : OFFSET_MAX;

		memcpy((char *)ret + debug_words[i].field, &offset, sizeof(offset));
	}
	/* Make the offsets relative to the lock: an interpreter may use the lock of another one
	 * instead of the lock in its own state. */
	ret->gil_holder -= (uint32_t)gil;
	ret->gil_locked -= (uint32_t)gil;
	gc = words[minor == 13 ? DEBUG_GC_3_13 : DEBUG_GC_3_14];
	collecting = words[minor == 13 ? DEBUG_COLLECTING_3_13 : DEBUG_COLLECTING_3_14];
	if (gc < OFFSET_MAX && collecting < OFFSET_MAX)
		ret->interpreter_collecting = (uint32_t)(gc + collecting);
	ret->text_compact = ret->text_ascii + 16; /* PyCompactUnicodeObject: two more words */
	if (python_offsets_fit(ret))
		return 0;
	snprintf(why, PYTHON_WHY_MAX, "CPython 3.%u: its _Py_DebugOffsets make no sense", minor);
	return -ENOTSUP;
}

int python_offsets(python_read_fn *read, void *ctx, uint64_t runtime, uint32_t *version,
		   struct python_offsets *ret, char why[PYTHON_WHY_MAX])
{
	uint64_t words[DEBUG_WORDS];
	struct python_range range = {runtime, words, sizeof(words)};
	bool debug = read(ctx, &range, 1) && python_offsets_begin((uint8_t *)words, sizeof(words));
	uint32_t minor;

	if (debug)
		*version = (uint32_t)words[DEBUG_VERSION];
	minor = *version >> 16 & 0xff;
	if (*version >> 24 != 3 || minor < MINOR_FIRST || minor > MINOR_LAST)
		return python_offsets_refuse(*version, why);
	if (minor > MINOR_TABLE) {
		if (debug)
			return python_offsets_debug(words, minor, ret, why);
		snprintf(why, PYTHON_WHY_MAX, "CPython 3.%u: _PyRuntime lacks _Py_DebugOffsets",
			 minor);
		return -ENOTSUP;
	}
	*ret = offsets_table[minor - MINOR_FIRST];
	return 0;
}
