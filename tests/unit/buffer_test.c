/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/buffer.h"

static void builds(void **state)
{
	struct buffer b = {0};
	char big[5000];

	(void)state;
	memset(big, 'x', sizeof(big));
	buffer_add(&b, "", 0);
	assert_string_equal(b.data, "");
	buffer_printf(&b, "%s=%d", "a", 7);
	assert_string_equal(b.data, "a=7");
	buffer_add(&b, big, sizeof(big));
	buffer_add(&b, "\0y", 2);
	assert_int_equal(b.len, 3 + sizeof(big) + 2);
	assert_int_equal(b.data[b.len], 0);
	assert_int_equal(b.data[3 + sizeof(big) + 1], 'y');
	buffer_clear(&b);
	assert_string_equal(b.data, "");
	memcpy(buffer_reserve(&b, 4), "abcd", 4);
	b.len += 4;
	assert_string_equal(b.data, "abcd");
	buffer_free(&b);
	assert_null(b.data);
}

static void numbers(void **state)
{
	struct buffer b = {0};
	char expected[32];

	(void)state;
	for (uint64_t n = 1, power = 1; n < 1000 * 1000; n += 1 + n / 7, power *= power ? 10 : 0) {
		const uint64_t values[] = {n, power, power - 1, UINT64_MAX - n, n - 1};

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			buffer_clear(&b);
			buffer_uint(&b, values[i]);
			snprintf(expected, sizeof(expected), "%llu", (unsigned long long)values[i]);
			assert_string_equal(b.data, expected);
		}
	}
	buffer_clear(&b);
	for (size_t len = 0; len < 600; len++) { /* at each place before and after it grows */
		size_t at = b.len;

		buffer_printf(&b, "%zu", len);
		snprintf(expected, sizeof(expected), "%zu", len);
		assert_string_equal(b.data + at, expected);
	}
	buffer_free(&b);
}

static void fails_once_and_for_all(void **state)
{
	struct buffer b = {0};

	(void)state;
	buffer_add(&b, "ab", 2);
	assert_null(buffer_reserve(&b, SIZE_MAX - 1));
	assert_true(b.failed);
	buffer_add(&b, "c", 1);
	buffer_printf(&b, "%d", 1);
	assert_string_equal(b.data, "ab");
	buffer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builds),
		cmocka_unit_test(numbers),
		cmocka_unit_test(fails_once_and_for_all),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
