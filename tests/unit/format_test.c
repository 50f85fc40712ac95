/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text/format.c have a row for each member of their enum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/text/format.h"

static void each_part_of_a_bar_has_its_glyph(void **state)
{
	(void)state;
	for (int i = 0; i < PART_COUNT; i++)
		if (!part_style[i].glyph)
			fail_msg("part %d of a time bar has no row in part_style", i);
}

/* Two parts that look the same cannot be told apart in a bar. */
static void no_two_parts_look_the_same(void **state)
{
	(void)state;
	for (int i = 0; i < PART_COUNT; i++)
		for (int k = 0; k < i; k++)
			assert_false(!strcmp(part_style[i].glyph, part_style[k].glyph) &&
				     part_style[i].style == part_style[k].style);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_of_a_bar_has_its_glyph),
		cmocka_unit_test(no_two_parts_look_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
