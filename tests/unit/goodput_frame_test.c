/* SPDX-License-Identifier: Apache-2.0 */
/* Each text is read whole, byte by byte, and in two pieces cut at every byte: the same must come
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/ingest/goodput_frame.h"
#include "userspace/ingest/goodput_source.h"

static char told[1 << 16];
static size_t told_len;

static void tell(const char *text, size_t len)
{
	assert_true(told_len + len < sizeof(told));
	memcpy(told + told_len, text, len);
	told_len += len;
	told[told_len] = '\0';
}

/* "LINE TEXT|" of an entry, "LINE !WHY|" of a broken one. */
static void frame_told(uint64_t line, const char *mark, const char *text, size_t len)
{
	char number[24];

	tell(number, (size_t)sprintf(number, "%llu ", (unsigned long long)line));
	tell(mark, strlen(mark));
	tell(text, len);
	tell("|", 1);
}

static void frames_run(struct goodput_frame *f)
{
	uint64_t line;
	const char *why;
	size_t len;

	while (goodput_frame_begin(f)) {
		line = f->line;
		switch (goodput_frame_scan(f, &len, &why)) {
		case FRAME_MORE:
			return;
		case FRAME_BROKEN:
			frame_told(line, "!", why, strlen(why));
			break;
		case FRAME_ENTRY:
			frame_told(line, "", f->at, len);
			goodput_frame_pass(f, len);
			break;
		}
	}
}

/* The bytes of one more piece, in memory of their own, and nothing behind them. */
static char *frame_piece(struct goodput_frame *f, char *held, const char *text, size_t len)
{
	size_t unread = held ? (size_t)(f->end - f->at) : 0;
	char *next = malloc(unread + len + !(unread + len));

	if (unread)
		memcpy(next, f->at, unread);
	memcpy(next + unread, text, len);
	free(held);
	goodput_frame_feed(f, next, next + unread + len);
	return next;
}

/* First piece of `cut` bytes, the others of `step`. */
static const char *frames_in(const char *text, size_t len, size_t cut, size_t step)
{
	struct goodput_frame f;
	char *held = NULL;

	told_len = 0;
	*told = '\0';
	goodput_frame_start(&f);
	for (size_t at = 0, n; at < len; at += n) {
		n = at ? step : cut;
		n = n < len - at ? n : len - at;
		held = frame_piece(&f, held, text + at, n);
		frames_run(&f);
	}
	if (goodput_frame_open(&f))
		tell("open", 4);
	free(held);
	return told;
}

static void frames_are(const char *text, size_t len, const char *expected)
{
	assert_string_equal(frames_in(text, len, len, len), expected);
	assert_string_equal(frames_in(text, len, 1, 1), expected);
	for (size_t cut = 1; cut < len; cut++)
		assert_string_equal(frames_in(text, len, cut, len), expected);
}
#define FRAMES(text, expected) frames_are(text, sizeof(text) - 1, expected)

static void lines(void **state)
{
	(void)state;
	FRAMES("", "");
	FRAMES("{\"a\":1}\n{\"b\":2}\n", "1 {\"a\":1}|2 {\"b\":2}|");
	FRAMES("{\"a\":1}\r\n\r\n  \n{\"b\":2}", "1 {\"a\":1}|4 {\"b\":2}|");
	FRAMES("\xef\xbb\xbf{\"a\":1}\n\0\0\0\0{\"b\":2}\n", "1 {\"a\":1}|2 {\"b\":2}|");
	FRAMES("{\"a\":1}{\"b\":2} {\"c\":[{}]}", "1 {\"a\":1}|1 {\"b\":2}|1 {\"c\":[{}]}|");
	FRAMES("{\"}\\\"{\":\"\\\\\"}{}", "1 {\"}\\\"{\":\"\\\\\"}|1 {}|");
	FRAMES("{\"a\":1},\n{\"b\":2},\n", "1 {\"a\":1}|2 {\"b\":2}|");
}

static void documents(void **state)
{
	(void)state;
	FRAMES("[{\"a\":1},{\"b\":[1,[2,{}],{}]}]", "1 {\"a\":1}|1 {\"b\":[1,[2,{}],{}]}|");
	FRAMES("[\n {\n  \"a\": 1\n },\n {\n  \"b\": {\n   \"c\": []\n  }\n }\n]\n",
	       "2 {\n  \"a\": 1\n }|5 {\n  \"b\": {\n   \"c\": []\n  }\n }|");
	FRAMES("[]\n[{}]\n{}\n[\n]", "2 {}|3 {}|");
	FRAMES("{\n}\n{\n}", "1 {\n}|3 {\n}|");
	FRAMES("[1,{},null,\"x\",[2],{\"a\":1}]",
	       "1 !not a JSON object|1 {}|1 !not a JSON object|1 !not a JSON object|"
	       "1 !not a JSON object|1 {\"a\":1}|");
	FRAMES("[[{},\n[]],{}]", "1 !not a JSON object|2 {}|");
	FRAMES("[{}", "1 {}|open");
}

static void broken_lines(void **state)
{
	(void)state;
	FRAMES("hello\n{\"a\":1}\n", "1 !not a JSON object|2 {\"a\":1}|");
	FRAMES("hello {}\n{\"a\":1}\n", "1 !not a JSON object|2 {\"a\":1}|");
	FRAMES("{\"a\":1}}\n{}\n", "1 {\"a\":1}|1 !not a JSON object|2 {}|");
	FRAMES("{\"a\":[1}\n{}\n", "1 !brackets do not match|2 {}|");
	FRAMES("{\"a\":\"x\n{}\n", "1 !a string has no end|2 {}|");
	FRAMES("]\n{}\n", "1 !not a JSON object|2 {}|");
}

/* A line that was cut, by a crash or a full disk, takes no other with it. */
static void cut_lines(void **state)
{
	(void)state;
	FRAMES("{\"a\":1,\n{\"b\":2}\n{}\n", "1 !ends in the middle|2 {\"b\":2}|3 {}|");
	FRAMES("{\"a\":tr\n{\"b\":2}\n", "1 !ends in the middle|2 {\"b\":2}|");
	FRAMES("{\"a\"\n{\"b\":2}\n", "1 !ends in the middle|2 {\"b\":2}|");
	FRAMES("{\n{\"b\":2}\n", "1 !ends in the middle|2 {\"b\":2}|");
	FRAMES("{\"a\":{\"c\":1}\n{\"b\":2}\n", "1 !ends in the middle|2 {\"b\":2}|");
	FRAMES("{\"a\":\"b\\\n{\"b\":2}\n{}", "1 !a string has no end|2 {\"b\":2}|3 {}|");
}

static void holes(void **state)
{
	(void)state;
	FRAMES("{\"a\":1,\0\0\0{\"b\":2}\n", "1 !ends in the middle|1 {\"b\":2}|");
	FRAMES("{\n\"a\":\"x\0\n{\"b\":2}\n", "1 !a string has no end|3 {\"b\":2}|");
	FRAMES("{}\n\0\0\0\n{}", "1 {}|3 {}|");
}

/* Of an entry over several lines that breaks, what is left is not told again. */
static void torn(void **state)
{
	(void)state;
	FRAMES("[\n{\n \"a\": \"x\n \"b\": 1,\n \"c\": 2\n},\n{\n \"d\": 1\n}\n]",
	       "2 !a string has no end|7 {\n \"d\": 1\n}|");
	FRAMES("{\n \"a\": 1\n {\n }\nhello\n{}\nhello\n",
	       "1 !ends in the middle|3 {\n }|5 !not a JSON object|6 {}|7 !not a JSON object|");
}

static void open_ends(void **state)
{
	(void)state;
	FRAMES("{}\n{\"a\"", "1 {}|open");
	FRAMES("{\"a\":\"", "open");
}

static void depth(void **state)
{
	char text[3 * GOODPUT_DEPTH_MAX + 64];
	int deepest = GOODPUT_DEPTH_MAX - 1;
	size_t len = 0;

	(void)state;
	for (int extra = 0; extra < 2; extra++) {
		len = (size_t)sprintf(text, "{\"a\":");
		memset(text + len, '[', (size_t)(deepest + extra));
		len += (size_t)(deepest + extra);
		memset(text + len, ']', (size_t)(deepest + extra));
		len += (size_t)(deepest + extra);
		len += (size_t)sprintf(text + len, "}\n{}\n");
		frames_in(text, len, len, len);
		if (extra)
			assert_string_equal(told, "1 !nested too deeply|2 {}|");
		else
			assert_string_equal(told + told_len - 5, "2 {}|");
	}
}

/* An entry of the longest, and one a byte longer. */
static void longest(void **state)
{
	char *text = malloc(GOODPUT_ENTRY_MAX + 64);
	struct goodput_frame f;
	const char *why;
	size_t len;

	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		memset(text, 'x', GOODPUT_ENTRY_MAX + extra);
		memcpy(text, "{\"a\":\"", 6);
		memcpy(text + GOODPUT_ENTRY_MAX + extra - 2, "\"}\n{}\n", 7);
		goodput_frame_start(&f);
		goodput_frame_feed(&f, text, text + GOODPUT_ENTRY_MAX + extra + 4);
		assert_true(goodput_frame_begin(&f));
		assert_int_equal(goodput_frame_scan(&f, &len, &why),
				 extra ? FRAME_BROKEN : FRAME_ENTRY);
		if (extra)
			assert_string_equal(why, "longer than 1 MiB");
		else
			goodput_frame_pass(&f, len);
		assert_true(goodput_frame_begin(&f));
		assert_int_equal(f.line, 2);
		assert_int_equal(goodput_frame_scan(&f, &len, &why), FRAME_ENTRY);
		assert_int_equal(len, 2);
	}
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),	cmocka_unit_test(documents),
		cmocka_unit_test(broken_lines), cmocka_unit_test(cut_lines),
		cmocka_unit_test(torn),		cmocka_unit_test(holes),
		cmocka_unit_test(open_ends),	cmocka_unit_test(depth),
		cmocka_unit_test(longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
