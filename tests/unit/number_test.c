/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/base/number.h"

static void test_numbers(void **state)
{
	uint64_t left = 10;

	(void)state;
	assert_int_equal(smaller_of(3, UINT64_MAX), 3);
	assert_int_equal(larger_of(3, UINT64_MAX), UINT64_MAX);
	assert_int_equal(more_than(7, 3), 4);
	assert_int_equal(more_than(3, 7), 0);
	assert_int_equal(take_up_to(&left, 4), 4);
	assert_int_equal(left, 6);
	assert_int_equal(take_up_to(&left, 7), 6);
	assert_int_equal(left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
