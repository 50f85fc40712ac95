/* SPDX-License-Identifier: Apache-2.0 */
/* Event files of what has ended, and of much that begins and ends. */
#include "tests/unit/tensorboard_set.h"

/* What a run had is written first; what comes later all the same is in another file. */
static void test_over(void **state)
{
	int open_before = entries("/proc/self/fd");
	struct tb_board *b;
	uint64_t records;

	(void)state;
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	put(b, "run", 1);
	put(b, "other", 1);
	tb_board_over(b, "run");
	tb_board_over(b, "never was");
	tb_board_flush(b);
	assert_int_equal(entries("/proc/self/fd"),
			 open_before + 2); /* the folder, and the other one's */
	put(b, "run", 2);
	tb_board_flush(b);
	assert_int_equal(entries("/proc/self/fd"), open_before + 3);
	assert_int_equal(tb_board_close(b), 0);
	assert_int_equal(files("board/run", &records), 2);
	assert_int_equal(records, 4);
	assert_int_equal(files("board/other", &records), 1);
}

/* Of a job that has ended no file stays open, from the second snapshot that shows it on. */
static void test_ended(void **state)
{
	int open_before = entries("/proc/self/fd");
	struct export_set *set = opened(true);
	struct snapshot *s;
	uint64_t records;

	(void)state;
	told(set, 1, 3);
	for (uint64_t i = 0; i < 3; i++) {
		s = snapshot_of(S / 10);
		s->mono_ns += i * S;
		s->jobs[0].ledger.ended = true;
		s->ranks[0].trainer = true;
		s->ranks[0].alive = false;
		s->ranks[0].run = 1;
		s->ranks[0].ledger.now_ns = 90 * S;
		strcpy(s->ranks[0].job, "job");
		export_set_snapshot(set, s);
		snapshot_unref(s);
		assert_int_equal(entries("/proc/self/fd"), open_before + (i ? 1 : 3));
	}
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/goodput", &records), 1);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 3 + 3);
}

/* Steps of an interval in which many jobs began: nobody knew what is usual before its end. */
static void test_ideal_of_many(void **state)
{
	struct export_set *set = opened(true);
	uint64_t records;

	(void)state;
	told(set, 1, 20000);
	shown(set, S / 10);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 20000 + 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_over, begin, end),
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
		cmocka_unit_test_setup_teardown(test_ideal_of_many, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
