/* SPDX-License-Identifier: Apache-2.0 */
/* Where what people left out lies on the monotonic clock. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/time/exclusion.h"

#define MONO 1000u
#define REAL 500000 /* UTC at MONO */

static void test_said(void **state)
{
	static const char *const none[] = {"",	  "5",	   "5 5",  "6 5",
					   "5 x", "5 6 7", "-5 6", "5 99999999999999999999 "};
	struct excluded a = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(exclusion_say(&a, none[i]), -EINVAL);
	assert_int_equal(a.nsaid, 0);
	for (int i = 0; i < EXCLUSIONS_MAX; i++)
		assert_int_equal(exclusion_say(&a, "500010 500020"), 0);
	assert_int_equal(exclusion_say(&a, "500030 500040"), -E2BIG);
	exclusion_place(&a, MONO, REAL);
	assert_int_equal(a.count, 1);
	exclusion_forget(&a);
	assert_int_equal(a.nsaid + a.count, 0);
}

/* In any order; what overlaps or touches is one; what lies before the clock began is at its
 * beginning. */
static void test_placed(void **state)
{
	struct excluded a = {0};

	(void)state;
	assert_int_equal(exclusion_say(&a, "500300 500400"), 0);
	assert_int_equal(exclusion_say(&a, "500010 500020"), 0);
	assert_int_equal(exclusion_say(&a, "500015 500030"), 0);
	assert_int_equal(exclusion_say(&a, "500030 500040"), 0);
	assert_int_equal(exclusion_say(&a, "1 499005"), 0);
	assert_int_equal(exclusion_say(&a, "500390 500391"), 0);
	assert_int_equal(exclusion_within(&a, 0, UINT64_MAX), 0); /* nobody knows yet where */
	exclusion_place(&a, MONO, REAL);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.span[0].from_ns, 0);
	assert_int_equal(a.span[0].to_ns, 5);
	assert_int_equal(a.span[1].from_ns, MONO + 10);
	assert_int_equal(a.span[1].to_ns, MONO + 40);
	assert_int_equal(a.span[2].from_ns, MONO + 300);
	assert_int_equal(a.span[2].to_ns, MONO + 400);
	assert_int_equal(exclusion_within(&a, 0, UINT64_MAX), 135);
	assert_int_equal(exclusion_within(&a, MONO + 39, MONO + 301), 2);
	exclusion_place(&a, MONO, REAL - 100); /* the wall clock was set back */
	assert_int_equal(a.span[1].from_ns, MONO + 110);
}

static void test_at(void **state)
{
	struct excluded a = {.span = {{10, 20}, {30, 40}}, .count = 2};
	uint64_t to = 100;

	(void)state;
	assert_false(exclusion_at(NULL, 15, &to));
	assert_int_equal(to, 100);
	assert_false(exclusion_at(&a, 0, &to));
	assert_int_equal(to, 10);
	to = 100;
	assert_true(exclusion_at(&a, 10, &to));
	assert_int_equal(to, 20);
	to = 100;
	assert_false(exclusion_at(&a, 20, &to));
	assert_int_equal(to, 30);
	to = 35;
	assert_true(exclusion_at(&a, 30, &to));
	assert_int_equal(to, 35);
	to = 100;
	assert_false(exclusion_at(&a, 40, &to));
	assert_int_equal(to, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_placed),
		cmocka_unit_test(test_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
