/* SPDX-License-Identifier: Apache-2.0 */
/* Python stacks in memory that is well-formed, that changes meanwhile, or that is hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/python_memory.h"

#define THREADS_MAX 8

static struct python_memory memory;
static struct python_thread threads[THREADS_MAX];
static struct python_process *process;
static char why[PYTHON_WHY_MAX];

static int begin(void **state)
{
	struct python_place place = memory_place();

	(void)state;
	memory_make(&memory);
	memory_word(&memory, AT_THREAD + 144, (uint64_t)getpid());
	return python_attach(getpid(), python_memory_get, &memory, &place, &process, why);
}

static int end(void **state)
{
	(void)state;
	python_close(process);
	process = NULL;
	return 0;
}

static int dump(void)
{
	memset(threads, 0x5a, sizeof(threads));
	return python_dump(process, threads, THREADS_MAX, why);
}

static void frame_is(const struct python_frame *f, const char *function, const char *file, int line)
{
	assert_string_equal(f->function, function);
	assert_string_equal(f->file, file);
	assert_int_equal(f->line, line);
}

/* ---- line tables, as compilers of these versions wrote them ---------------------------------- */

#define LINE(format, table, first, at)                                                             \
	python_line(format, (const uint8_t *)(table), sizeof(table) - 1, first, at)

static void line_of_3_8(void **state)
{
	/* def big(a): a(); 200 lines further: b = (a() + a()) in several lines; return b */
	static const char table[] = "\x00\x01\x06\x7f\x00\x4a\x04\x05\x04\xfb\x04\x06";

	(void)state;
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 0), 2);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 4), 2);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 6), 203);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 10), 208);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 14), 203);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, 20), 209);
	assert_int_equal(LINE(PYTHON_LNOTAB, table, 1, -1), 1);
	assert_int_equal(LINE(PYTHON_LNOTAB, "\x00", 7, 0), 7);
	assert_int_equal(LINE(PYTHON_LNOTAB, "\x00\x80", 7, 0), 0); /* a line before the first */
}

static void line_of_3_10(void **state)
{
	static const char table[] = "\x06\x01\x00\x7f\x04\x4a\x04\x05\x04\xfb\x04\x06";

	(void)state;
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 0), 2);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 4), 2);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 6), 203);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 12), 208);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 16), 203);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 20), 209);
	assert_int_equal(LINE(PYTHON_LINETABLE, table, 1, 22), 0); /* after its end */
	assert_int_equal(LINE(PYTHON_LINETABLE, "\x02\x01\x02\x80\x02\x01", 1, 2), 0);
	assert_int_equal(LINE(PYTHON_LINETABLE, "\x02\x01\x02\x80\x02\x01", 1, 4), 3);
}

static void line_of_3_11(void **state)
{
	static const char table[] =
		"\x80\x00\xd8\x04\x05\x80\x41\x81\x43\x84\x43\x80\x43\xf0\x52\x06\x00\x0a\x0b\x88"
		"\x11\x89\x13\x8c\x13\xf0\x0a\x00\x02\x03\x80\x11\x81\x13\x84\x13\xf1\x0b\x05\x0a"
		"\x05\x80\x41\xf0\x0c\x00\x0c\x0d\x80\x48";
	/* from 3.13: ranges without a line, and lines without columns */
	static const char none[] =
		"\x80\x00\xdc\x08\x09\xd8\x08\x09\xe1\x12\x13\xf3\x03\x01\x09\x15\xd9\x12\x13\x88"
		"\x51\xf3\x03\x00\x0a\x0b\xd9\x12\x13\xf1\x03\x01\x09\x15\xf3\x05\x04\x09\x06\x80"
		"\x41\xf0\x0a\x03\x05\x0e\xdc\x08\x09\x88\x21\x8c\x04\xe1\x0c\x0d\xf9\xf2\x0d\x01"
		"\x09\x15\xf8\xf1\x0c\x00\x0d\x0e\xfa";

	(void)state;
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 0), 1);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 12), 2);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 22), 203);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 48), 208);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 58), 203);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 66), 209);
	assert_int_equal(LINE(PYTHON_LOCATIONS, table, 1, 68), 0);
	assert_int_equal(LINE(PYTHON_LOCATIONS, none, 2, 14), 6);
	assert_int_equal(LINE(PYTHON_LOCATIONS, none, 2, 84), 11);
	assert_int_equal(LINE(PYTHON_LOCATIONS, none, 2, 88), 0);
	assert_int_equal(LINE(PYTHON_LOCATIONS, none, 2, 92), 5);
	assert_int_equal(LINE(PYTHON_LOCATIONS, none, 2, 100), 11);
	assert_int_equal(LINE(PYTHON_LOCATIONS, "\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f", 1, 0), 0);
	assert_int_equal(LINE(PYTHON_LOCATIONS, "\x00\xd8", 1, 0), 0); /* no head */
	assert_int_equal(LINE(PYTHON_LOCATIONS, "", 1, 0), 0);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

static void text_kinds(void **state)
{
	char text[16];

	(void)state;
	python_text(text, sizeof(text), "caf\xe9\n\x7f", 1, 6);
	assert_string_equal(text, "café??");
	python_text(text, sizeof(text), (uint16_t[]){0x540d, 0x202e, 0xdc80, 'x'}, 2, 4);
	assert_string_equal(text, "名??x"); /* a mark that turns text, half a surrogate */
	python_text(text, sizeof(text), (uint32_t[]){0x1d518, 0x110000, 0xffffffff}, 4, 3);
	assert_string_equal(text, "𝔘??");
	python_text(text, 6, (uint16_t[]){0x540d, 0x540d}, 2, 2); /* cut at a whole character */
	assert_string_equal(text, "名");
}

/* ---- stacks -----------------------------------------------------------------------------------
 */

static void stack_whole(void **state)
{
	uint32_t reads;

	(void)state;
	assert_int_equal(dump(), 1);
	assert_int_equal(threads[0].tid, getpid());
	assert_int_equal(threads[0].pthread, 0x7f0000001000);
	assert_true(threads[0].holds_gil);
	assert_false(threads[0].torn || threads[0].cut);
	assert_int_equal(threads[0].nframes, 2); /* not the one of C */
	frame_is(&threads[0].frames[0], "inner", "file.py", 12);
	frame_is(&threads[0].frames[1], "outer", "file.py", 11);
	reads = memory.reads;
	assert_int_equal(dump(), 1);
	frame_is(&threads[0].frames[0], "inner", "file.py", 12);
	assert_true(memory.reads - reads < reads); /* names are remembered */
}

static void stack_of_no_code(void **state)
{
	(void)state;
	memory_word(&memory, AT_CFRAME, 0);
	assert_int_equal(dump(), 1);
	assert_false(threads[0].torn);
	assert_int_equal(threads[0].nframes, 0);
}

static void other_code_at_the_same_address(void **state)
{
	(void)state;
	assert_int_equal(dump(), 1);
	memory_text(&memory, AT_TEXT(3), 5, TEXT_ASCII(1), "other", 5);
	memory_word(&memory, AT_CODE(1) + 128, AT_TEXT(3));
	assert_int_equal(dump(), 1);
	frame_is(&threads[0].frames[0], "other", "file.py", 12);
}

static void texts_of_each_kind(void **state)
{
	(void)state;
	memory_text(&memory, AT_TEXT(0), 2, TEXT_WIDE(2), (uint16_t[]){0x540d, 0x524d}, 4);
	memory_text(&memory, AT_TEXT(1), 1, 4u << 2, (uint32_t[]){0x1d518}, 4); /* not compact */
	assert_int_equal(dump(), 1);
	frame_is(&threads[0].frames[0], "𝔘", "file.py", 12);
	frame_is(&threads[0].frames[1], "名前", "file.py", 11);
}

static void hostile_texts(void **state)
{
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text));
	memory_text(&memory, AT_TEXT(2), 0x7fffffff, TEXT_ASCII(1), text, 2048); /* file */
	assert_int_equal(dump(), 1);
	assert_int_equal(strlen(threads[0].frames[0].file), PYTHON_TEXT_MAX - 1);
	memory_word(&memory, AT_CODE(0) + 128, 0xdeadbeef); /* no memory */
	memory_text(&memory, AT_TEXT(1), UINT64_MAX, TEXT_ASCII(1), "x", 1);
	memory_word(&memory, AT_CODE(1) + 112, AT_TEXT(2) + 8); /* other pointers: not remembered */
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	frame_is(&threads[0].frames[0], "?", "?", 0);
	frame_is(&threads[0].frames[1], "?", "?", 0);
	memory_text(&memory, AT_TEXT(1), 1, TEXT_ASCII(7), "x", 1); /* no such kind */
	assert_int_equal(dump(), 1);
	frame_is(&threads[0].frames[0], "?", "?", 0);
}

static void hostile_code(void **state)
{
	(void)state;
	memory_word(&memory, AT_CODE(1) + 8, AT_TEXT_TYPE); /* another type */
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	frame_is(&threads[0].frames[0], "?", "?", 0);
	frame_is(&threads[0].frames[1], "outer", "file.py", 11);
	memory_word(&memory, AT_CODE(1) + 8, AT_CODE_TYPE);
	memory_frame(&memory, AT_FRAME(2), AT_FRAME(1), AT_CODE(1), 8); /* behind its code */
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	memory_frame(&memory, AT_FRAME(2), AT_FRAME(1), AT_CODE(1), 3);
	memory_word(&memory, AT_LINES + 16, UINT64_MAX); /* a table without end */
	assert_int_equal(dump(), 1);
	frame_is(&threads[0].frames[0], "inner", "file.py", 0);
	memory_frame(&memory, AT_FRAME(2), AT_FRAME(1), 0xffffffffffffff00, 3);
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	frame_is(&threads[0].frames[0], "?", "?", 0);
	frame_is(&threads[0].frames[1], "outer", "file.py", 11);
}

static void hostile_chains(void **state)
{
	uint32_t reads = memory.reads;

	(void)state;
	memory_frame(&memory, AT_FRAME(0), AT_FRAME(2), AT_CODE(0), 1); /* a circle */
	assert_int_equal(dump(), 1);
	assert_true(threads[0].cut);
	assert_int_equal(threads[0].nframes, PYTHON_FRAMES_MAX);
	assert_true(memory.reads - reads < 2000);
	memory.bytes[AT_FRAME(0) - MEMORY_BEGIN + 70] = 3; /* of C alone */
	memory.bytes[AT_FRAME(2) - MEMORY_BEGIN + 70] = 3;
	assert_int_equal(dump(), 1);
	assert_true(threads[0].cut);
	assert_int_equal(threads[0].nframes, 0);
	memory_word(&memory, AT_FRAME(2) + 8, 0xfffffffffffffff8);
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	memory_word(&memory, AT_THREAD + 56, 1);
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	assert_int_equal(threads[0].nframes, 0);
}

static void hostile_threads(void **state)
{
	(void)state;
	memory_word(&memory, AT_THREAD + 8, AT_THREAD); /* a circle */
	assert_int_equal(dump(), THREADS_MAX);
	memory_word(&memory, AT_THREAD + 8, 0x5555);
	assert_int_equal(dump(), -EAGAIN);
	memory_word(&memory, AT_THREAD + 8, AT_CODE(0)); /* not of this interpreter */
	assert_int_equal(dump(), -EAGAIN);
	memory_word(&memory, AT_THREAD + 8, 0);
	memory_word(&memory, AT_INTERPRETER, AT_INTERPRETER); /* a circle of interpreters */
	assert_int_equal(dump(), THREADS_MAX);
	memory_word(&memory, AT_THREAD + 144, UINT64_MAX);
	assert_int_equal(dump(), THREADS_MAX);
	assert_int_equal(threads[0].tid, 0);
	memory_word(&memory, AT_RUNTIME + 40, 0);
	assert_int_equal(dump(), 0);
}

/* The list begins with the newest; the main thread is the oldest. */
static void main_thread_first(void **state)
{
	uint64_t newer = AT_THREAD + 0x400;

	(void)state;
	memcpy(memory.bytes + (newer - MEMORY_BEGIN), memory.bytes + (AT_THREAD - MEMORY_BEGIN),
	       0x100);
	memory_word(&memory, newer + 8, AT_THREAD);
	memory_word(&memory, newer + 144, INT32_MAX);
	memory_word(&memory, AT_INTERPRETER + 72, newer);
	assert_int_equal(dump(), 2);
	assert_int_equal(threads[0].tid, getpid());
	assert_true(threads[0].holds_gil);
	assert_int_equal(threads[1].tid, 0); /* it does not run */
	assert_false(threads[1].holds_gil);
	assert_true(threads[1].lock_at && threads[1].lock_end > threads[1].lock_at);
	assert_int_equal(threads[0].lock_end, 0);
	assert_int_equal(python_dump(process, threads, 1, why), 1);
	assert_int_equal(threads[0].tid, getpid());
	assert_int_equal(python_dump(process, threads, 0, why), 0);
}

static void one_of_the_threads(void **state)
{
	uint32_t before, first;

	(void)state;
	before = memory.reads;
	assert_int_equal(python_dump_thread(process, getpid(), threads, why), 0);
	first = memory.reads - before;
	assert_int_equal(threads[0].tid, getpid());
	assert_true(threads[0].holds_gil && threads[0].nframes);
	before = memory.reads;
	memset(threads, 0, sizeof(threads[0]));
	assert_int_equal(python_dump_thread(process, getpid(), threads, why), 0);
	assert_in_range(memory.reads - before, 1, first - 1); /* it is known where it is */
	assert_int_equal(threads[0].tid, getpid());
	assert_true(threads[0].holds_gil && threads[0].nframes);
	assert_false(threads[0].collects);
	memory_word(&memory, AT_INTERPRETER + 312, 1);
	assert_int_equal(python_dump_thread(process, getpid(), threads, why), 0);
	assert_true(threads[0].collects);
	memory_word(&memory, AT_THREAD + 144, INT32_MAX); /* now another one is there */
	assert_int_equal(python_dump_thread(process, getpid(), threads, why), -ENOENT);
	memory_word(&memory, AT_THREAD + 144, (uint64_t)getpid());
	assert_int_equal(python_dump_thread(process, getpid(), threads, why), 0);
}

/* The function calls another one again and again: never the same twice. */
static void run_other_callee(struct python_memory *m)
{
	static uint64_t turn;

	memory_frame(m, AT_FRAME(2), AT_FRAME(1), AT_CODE(turn++ & 1), 3);
}

static void run_return(struct python_memory *m)
{
	m->run = NULL;
	memory_word(m, AT_CFRAME, AT_FRAME(0));
}

/* The innermost frame goes on within its function. */
static void run_on(struct python_memory *m)
{
	static uint64_t turn;

	memory_frame(m, AT_FRAME(2), AT_FRAME(1), AT_CODE(1), 3 + (turn++ & 1));
}

/* The caller goes on: the frame called is not the one that the line calls. */
static void run_caller(struct python_memory *m)
{
	static uint64_t turn;

	memory_frame(m, AT_FRAME(0), 0, AT_CODE(0), 1 + (turn++ & 1));
}

static void stack_that_changes(void **state)
{
	(void)state;
	memory.run = run_other_callee;
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	memory.run = run_caller;
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
	memory_make(&memory);
	memory.run = run_on;
	assert_int_equal(dump(), 1);
	assert_false(threads[0].torn);
	memory.run = run_return; /* once: the next attempt is whole */
	assert_int_equal(dump(), 1);
	assert_false(threads[0].torn);
	assert_int_equal(threads[0].nframes, 1);
	frame_is(&threads[0].frames[0], "outer", "file.py", 11);
}

/* A generator between two callers is no bottom of a stack. */
static void generator_without_caller(void **state)
{
	(void)state;
	memory_word(&memory, AT_FRAME(2) + 8, 0);
	memory.bytes[AT_FRAME(2) - MEMORY_BEGIN + 70] = 1;
	assert_int_equal(dump(), 1);
	assert_true(threads[0].torn);
}

/* ---- versions ---------------------------------------------------------------------------------
 */

static int offsets_of(const uint64_t *words, size_t n, uint32_t version)
{
	struct python_offsets o;

	memory_make(&memory);
	memory_put(&memory, AT_RUNTIME, words, n * sizeof(*words));
	return python_offsets(python_memory_get, &memory, AT_RUNTIME, &version, &o, why);
}

static void versions(void **state)
{
	uint64_t words[81] = {0};

	(void)state;
	assert_int_equal(offsets_of(words, 0, PYTHON_VERSION(3, 8)), 0);
	assert_int_equal(offsets_of(words, 0, PYTHON_VERSION(3, 7)), -ENOTSUP);
	assert_string_equal(why, "CPython 3.7: only 3.8 to 3.14 can be read");
	assert_int_equal(offsets_of(words, 0, 0), -ENOTSUP);
	assert_int_equal(offsets_of(words, 0, PYTHON_VERSION(3, 13)), -ENOTSUP); /* no cookie */
	memcpy(words, "xdebugpy", 8);
	words[1] = PYTHON_VERSION(3, 14);
	words[80] = 40; /* asciiobject_size */
	assert_int_equal(offsets_of(words, 81, 0), 0);
	words[44] = 1u << 30; /* code_object.firstlineno */
	assert_int_equal(offsets_of(words, 81, 0), -ENOTSUP);
	words[44] = 68;
	words[2] = 1;
	assert_int_equal(offsets_of(words, 81, 0), -ENOTSUP);
	assert_string_equal(why, "CPython 3.14 without a global interpreter lock");
	words[1] = PYTHON_VERSION(3, 15);
	assert_int_equal(offsets_of(words, 81, 0), -ENOTSUP);
}

static void processes_without_python(void **state)
{
	struct python_process *p;

	(void)state;
	assert_int_equal(python_open(getpid(), &p, why), -ENOENT);
	assert_int_equal(python_open(INT32_MAX, &p, why), -ESRCH);
}

int main(void)
{
#define STACK(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_of_3_8),
		cmocka_unit_test(line_of_3_10),
		cmocka_unit_test(line_of_3_11),
		cmocka_unit_test(text_kinds),
		STACK(stack_whole),
		STACK(stack_of_no_code),
		STACK(other_code_at_the_same_address),
		STACK(texts_of_each_kind),
		STACK(hostile_texts),
		STACK(hostile_code),
		STACK(hostile_chains),
		STACK(hostile_threads),
		STACK(main_thread_first),
		STACK(one_of_the_threads),
		STACK(stack_that_changes),
		STACK(generator_without_caller),
		cmocka_unit_test(versions),
		cmocka_unit_test(processes_without_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
