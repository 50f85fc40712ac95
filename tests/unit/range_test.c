/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "userspace/model/time/range.h"

static void test_matches(void **state)
{
	static const struct {
		const char *match, *name;
		bool does;
	} rows[] = {
		{"validation", "validation", true},
		{"validation", "validation2", false},
		{"validation*", "validation", true},
		{"validation*", "validation_epoch 3", true},
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"?", "", false},
		{"a?c", "abc", true},
		{"*upload", "s3_upload", true},
		{"*upload", "uploads", false},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"**a**", "bab", true},
		{"Valid", "valid", false},
		{"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (range_matches(rows[i].match, rows[i].name) != rows[i].does)
			fail_msg("%s and %s", rows[i].match, rows[i].name);
	}
}

static void test_rules(void **state)
{
	struct range_rules rules = {0};

	(void)state;
	assert_int_equal(range_rules_add(&rules, "EVAL validation*"), 0);
	assert_int_equal(range_rules_add(&rules, "eval a name = with all"), 0);
	assert_int_equal(range_rules_add(&rules, "CUSTOM_BADPUT_EVENTS.EVAL e"), 0);
	assert_int_equal(range_rules_add(&rules, "custom_badput_events.log_2 log"), 0);
	assert_int_equal(range_rules_add(&rules, "DATA_LOADING_SYNC get_batch"), 0);
	assert_int_equal(rules.count, 5);
	assert_int_equal(range_rules_find(&rules, "validation 1")->bucket, BUCKET_EVAL);
	assert_int_equal(range_rules_find(&rules, "a name = with all")->bucket, BUCKET_EVAL);
	assert_int_equal(range_rules_find(&rules, "e")->bucket, BUCKET_EVAL);
	assert_int_equal(range_rules_find(&rules, "log")->bucket, BUCKET_CUSTOM);
	assert_string_equal(rules.types.name[range_rules_find(&rules, "log")->type], "LOG_2");
	assert_null(range_rules_find(&rules, "logs"));
	/* The same name again: it is another's from here on. */
	assert_int_equal(range_rules_add(&rules, "TRAINING_PREP log"), 0);
	assert_int_equal(rules.count, 5);
	assert_int_equal(range_rules_find(&rules, "log")->bucket, BUCKET_TRAINING_PREP);
}

static void test_no_rules(void **state)
{
	static const char *const wrong[] = {
		"",
		"EVAL",
		"EVAL ",
		" x",
		"GOODPUT x",
		"OTHER x",
		"HANG x",
		"UNOBSERVED x",
		"WASTED_PROGRESS_FROM_DISRUPTION x",
		"INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION x",
		"EVALL x",
		"CUSTOM_BADPUT_EVENTS x",
		"CUSTOM_BADPUT_EVENTS. x",
		"CUSTOM_BADPUT_EVENTS.a\"b x",
		"CUSTOM_BADPUT_EVENTS.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA x",
		"EVAL aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct range_rules rules = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (range_rules_add(&rules, wrong[i]) != -EINVAL)
			fail_msg("taken: %s", wrong[i]);
	}
	assert_int_equal(rules.count, 0);
}

static void test_bounds(void **state)
{
	struct range_rules rules = {0};
	char text[64];

	(void)state;
	for (int i = 0; i < LEDGER_TYPES - 1; i++) {
		snprintf(text, sizeof(text), "CUSTOM_BADPUT_EVENTS.T%d r%d", i, i);
		assert_int_equal(range_rules_add(&rules, text), 0);
	}
	assert_int_equal(range_rules_add(&rules, "CUSTOM_BADPUT_EVENTS.MORE r"), -E2BIG);
	assert_int_equal(range_rules_add(&rules, "CUSTOM_BADPUT_EVENTS.T3 r"), 0);
	assert_int_equal(range_rules_add(&rules, "EVAL s"), -E2BIG);
	assert_int_equal(rules.count, RANGES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_no_rules),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
