/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that ran: of each its name is asked for once, whatever other processes run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/watch/code_runs.h"

#define S 1000000000ull

static struct code_runs runs;

static int set_up(void **state)
{
	(void)state;
	runs = (struct code_runs){0};
	return 0;
}

static void asked_once(void **state)
{
	(void)state;
	assert_true(code_runs_new(&runs, 1, 70, S));
	assert_true(code_runs_new(&runs, 2, 70, S));
	assert_false(code_runs_new(&runs, 1, 70, S));
	code_runs_forget(&runs, 1, 70);
	assert_false(code_runs_new(&runs, 2, 70, S));
	assert_true(code_runs_new(&runs, 1, 70, S));
	code_runs_gone(&runs, 2);
	assert_false(code_runs_new(&runs, 1, 70, S));
	assert_true(code_runs_new(&runs, 2, 70, S));
	assert_int_equal(runs.count, 2);
}

/* One process that runs ever new programs hides none of another's. */
static void many_of_one(void **state)
{
	uint64_t now_ns = S;

	(void)state;
	assert_true(code_runs_new(&runs, 1, 70, now_ns));
	for (uint64_t i = 0; i < 3 * CODE_RUNS_MAX; i++, now_ns += S / 100)
		assert_true(code_runs_new(&runs, 2, 1000 + i, now_ns));
	assert_int_equal(runs.count, CODE_RUNS_OF + 1);
	assert_false(code_runs_new(&runs, 1, 70, now_ns));
	assert_false(code_runs_new(&runs, 2, 1000 + 3 * CODE_RUNS_MAX - CODE_RUNS_OF, now_ns));
}

static void many_processes(void **state)
{
	uint64_t now_ns = S;

	(void)state;
	for (pid_t pid = 1; pid <= 2 * CODE_RUNS_MAX; pid++, now_ns += S / 100)
		assert_true(code_runs_new(&runs, pid, 70, now_ns));
	assert_int_equal(runs.count, CODE_RUNS_MAX);
	assert_false(code_runs_new(&runs, CODE_RUNS_MAX + 1, 70, now_ns));
}

/* What is not asked for in this second is asked for when it runs in the next one. */
static void each_second(void **state)
{
	uint32_t asked = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		asked += code_runs_new(&runs, 1, 1 + i, S);
	assert_int_equal(asked, CODE_RUNS_SECOND);
	assert_true(code_runs_new(&runs, 1, 10000, 2 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(asked_once, set_up),
		cmocka_unit_test_setup(many_of_one, set_up),
		cmocka_unit_test_setup(many_processes, set_up),
		cmocka_unit_test_setup(each_second, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
