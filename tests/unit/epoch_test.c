/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/base/epoch.h"

static int64_t parsed(const char *text)
{
	int64_t us = -1;

	return epoch_parse(text, strlen(text), &us) ? -1 : us;
}

static void test_seconds(void **state)
{
	(void)state;
	assert_int_equal(parsed("0"), 0);
	assert_int_equal(parsed("1735725599"), 1735725599000000);
	assert_int_equal(parsed("1735725599.999999"), 1735725599999999);
	assert_int_equal(parsed("1735725599.9999994"), 1735725599999999);
	assert_int_equal(parsed("1735725599.9999995"), 1735725600000000);
	assert_int_equal(parsed("1.5"), 1500000);
	assert_int_equal(parsed("253402300799"), 253402300799000000);
}

static void test_dates(void **state)
{
	(void)state;
	assert_int_equal(parsed("2025-01-01T10:00:00Z"), 1735725600000000);
	assert_int_equal(parsed("2025-01-01t10:00:00.25z"), 1735725600250000);
	assert_int_equal(parsed("2025-01-01 12:00:00+02:00"), 1735725600000000);
	assert_int_equal(parsed("2025-01-01T09:30:00.123456789-00:30"), 1735725600123457);
	assert_int_equal(parsed("2024-02-29T00:00:00Z"), 1709164800000000);
	assert_int_equal(parsed("2016-12-31T23:59:60Z"), 1483228800000000);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "1.",
					  ".5",
					  "1e9",
					  "0x10",
					  "nan",
					  "253402300800",
					  "99999999999999999999999",
					  "2025-01-01",
					  "2025-01-01T10:00:00",
					  "2025-02-29T10:00:00Z",
					  "2025-06-31T10:00:00Z",
					  "2025-13-01T10:00:00Z",
					  "2025-01-01T24:00:00Z",
					  "2025-01-01T10:00:00.Z",
					  "2025-01-01T10:00:00Zx",
					  "2025-01-01T10:00:00+2:00",
					  "1970-01-01T00:00:00+01:00"};
	int64_t us = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(epoch_parse(bad[i], strlen(bad[i]), &us), -EINVAL);
	assert_int_equal(us, 7);
	/* The end is len, not a NUL. */
	assert_int_equal(epoch_parse("12345", 2, &us), 0);
	assert_int_equal(us, 12000000);
}

static void test_text(void **state)
{
	char out[EPOCH_TEXT_MAX];

	(void)state;
	assert_string_equal(epoch_text(out, 1735725600250000, 0), "2025-01-01 10:00:00");
	assert_string_equal(epoch_text(out, 1735725600250000, 3), "2025-01-01 10:00:00.250");
	assert_string_equal(epoch_text(out, 1735725600000009, 6), "2025-01-01 10:00:00.000009");
	assert_string_equal(epoch_text(out, -1, 6), "1969-12-31 23:59:59.999999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
