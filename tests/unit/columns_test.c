/* SPDX-License-Identifier: Apache-2.0 */
/* A table never gets wider than it is told, whatever stands in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/text/canvas.h"
#include "userspace/text/columns.h"

#define COLUMNS 4
static const struct column whole[COLUMNS] = {{"ID", 4, true, false},
					     {"JOB", 12, false, false},
					     {"STEPS", 6, true, false},
					     {"SEEN", 8, false, false}};
static const struct column_way ways[] = {{3, 5}, {1, 6}, {2, 0}, {3, 0}};

static void fitted(struct column c[COLUMNS], int cols)
{
	memcpy(c, whole, sizeof(whole));
	columns_fit(c, COLUMNS, ways, sizeof(ways) / sizeof(ways[0]), cols);
}

static void line_is(const struct column *c, const char *const *cells, const char *want)
{
	struct buffer out = {0};

	columns_row(&out, c, COLUMNS, cells);
	assert_false(out.failed);
	assert_string_equal(out.data, want);
	buffer_free(&out);
}

static void test_fit(void **state)
{
	static const int want[][1 + COLUMNS] = {
		{0, 4, 12, 6, 8}, {33, 4, 12, 6, 8}, {32, 4, 12, 6, 7}, {30, 4, 12, 6, 5},
		{27, 4, 9, 6, 5}, {24, 4, 6, 6, 5},  {23, 4, 6, 0, 5},	{17, 4, 6, 0, 5},
		{16, 4, 6, 0, 0}, {1, 4, 6, 0, 0}};
	struct column c[COLUMNS];

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		fitted(c, want[i][0]);
		for (int k = 0; k < COLUMNS; k++)
			assert_int_equal(c[k].width, want[i][1 + k]);
	}
}

static void test_rows(void **state)
{
	struct column c[COLUMNS];

	(void)state;
	fitted(c, 0);
	line_is(c, NULL, "  ID JOB           STEPS SEEN\n");
	line_is(c, (const char *const[]){"1", "small", "42", "now"},
		"   1 small            42 now\n");
	line_is(c, (const char *const[]){"1", "", "42", ""}, "   1                  42\n");
	line_is(c, (const char *const[]){"1", "more than twelve", "1234567", "x"},
		"   1 more than twelve 1234567 x\n");
	fitted(c, 33);
	line_is(c, (const char *const[]){"1", "twelve chars", "1234567", "12345678"},
		"   1 twelve chars 12345~ 12345678\n");
	line_is(c, (const char *const[]){"1", "数据并行训练任务", "1", "x"},
		"   1 数据并行训~       1 x\n");
	line_is(c, (const char *const[]){"1", "a\033[2J\xff", "1", "x"},
		"   1 a?[2J?            1 x\n");
	fitted(c, 16);
	line_is(c, (const char *const[]){"1", "a long name", "1", "x"}, "   1 a lon~\n");
}

/* Any text, at any width. */
static void test_never_wider(void **state)
{
	static const char *const texts[] = {"",
					    "x",
					    "数据",
					    "a\xff\xfe",
					    "e\xcc\x81"
					    "e\xcc\x81",
					    "a longer text than fits anywhere"};
	struct column c[COLUMNS];

	(void)state;
	for (int cols = 17; cols < 40; cols++) {
		fitted(c, cols);
		for (unsigned pick = 0; pick < 6 * 6 * 6 * 6; pick++) {
			const char *const cells[] = {texts[pick % 6], texts[pick / 6 % 6],
						     texts[pick / 36 % 6], texts[pick / 216]};
			struct buffer out = {0};

			columns_row(&out, c, COLUMNS, cells);
			assert_true(out.data[out.len - 1] == '\n');
			out.data[out.len - 1] = '\0';
			assert_in_range(canvas_width(out.data), 0, cols);
			buffer_free(&out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_never_wider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
