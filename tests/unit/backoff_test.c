/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "userspace/base/backoff.h"

#define MS 1000000ull
#define S  1000000000ull

struct failure {
	int64_t asked_ms;
	double random;
	uint64_t pause_ns;
};

static const struct sequence {
	const char *what;
	struct backoff_rule rule;
	struct failure of[8]; /* pause_ns 0: a success, except for the last */
} sequences[] = {
	{"doubles up to the limit",
	 {.first_ns = S, .most_ns = 10 * S},
	 {{-1, 0, S},
	  {-1, 0.9, 2 * S},
	  {-1, 0, 4 * S},
	  {-1, 0, 8 * S},
	  {-1, 0, 10 * S},
	  {-1, 0, 10 * S}}},
	{"always the same",
	 {.first_ns = 5 * S, .most_ns = 5 * S},
	 {{-1, 0, 5 * S}, {-1, 0.5, 5 * S}, {-1, 0, 5 * S}}},
	{"a first pause longer than the longest",
	 {.first_ns = 7 * S, .most_ns = 5 * S},
	 {{-1, 0, 5 * S}, {-1, 0, 5 * S}}},
	{"random between least and limit",
	 {.first_ns = 2 * S, .most_ns = 60 * S, .least_ns = S},
	 {{-1, 0, S},
	  {-1, 0.5, 2500 * MS},
	  {-1, 0, S},
	  {-1, 0.5, 8500 * MS},
	  {-1, 0.75, 24250 * MS}}},
	{"least is the limit",
	 {.first_ns = S, .most_ns = S, .least_ns = S},
	 {{-1, 0.5, S}, {-1, 0.5, S}}},
	{"a success begins anew",
	 {.first_ns = S, .most_ns = 60 * S},
	 {{-1, 0, S}, {-1, 0, 2 * S}, {0}, {-1, 0, S}, {-1, 0, 2 * S}}},
	{"what the server asks for is never undercut",
	 {.first_ns = S, .most_ns = 60 * S},
	 {{0, 0, S},
	  {1, 0, 2 * S},
	  {3999, 0, 4 * S},
	  {8000, 0, 16 * S},
	  {90000, 0, 106 * S},
	  {-1, 0, 32 * S}}},
	{"but has a limit",
	 {.first_ns = S, .most_ns = S, .asked_most_ns = 600 * S},
	 {{INT64_MAX / 1000000, 0, 601 * S}, {600001, 0, 601 * S}, {599000, 0, 600 * S}}},
};

static void test_sequences(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		const struct sequence *q = &sequences[i];
		struct backoff b = {0};

		for (size_t k = 0; k < sizeof(q->of) / sizeof(q->of[0]); k++) {
			const struct failure *f = &q->of[k];
			uint64_t pause_ns;

			if (!f->pause_ns) {
				b = (struct backoff){0};
				continue;
			}
			pause_ns = backoff_next(&b, &q->rule, f->asked_ms, f->random);
			if (pause_ns != f->pause_ns)
				fail_msg("%s: pause %zu is %llu ns instead of %llu", q->what, k,
					 (unsigned long long)pause_ns,
					 (unsigned long long)f->pause_ns);
		}
	}
}

static void test_many_failures(void **state)
{
	const struct backoff_rule rule = {.first_ns = 1, .most_ns = UINT64_MAX};
	const struct backoff_rule brief = {.first_ns = S, .most_ns = 60 * S};
	struct backoff b = {0}, c = {0};
	uint64_t before_ns = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t pause_ns = backoff_next(&b, &rule, BACKOFF_UNASKED, 0);

		assert_true(pause_ns >= before_ns);
		before_ns = pause_ns;
		assert_true(backoff_next(&c, &brief, BACKOFF_UNASKED, 0) <= 60 * S);
	}
	assert_true(before_ns == 1ull << 32);
}

static void test_random(void **state)
{
	double least = 1, most = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		double x = backoff_random();

		assert_true(x >= 0 && x < 1);
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	assert_true(least < 0.2 && most > 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_many_failures),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
