/* SPDX-License-Identifier: Apache-2.0 */
/* Event files: which scalars, in which folders, and what a disk and its users may do to them. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/tensorboard_set.h"
#include "userspace/base/clock.h"

static void run_of(bool replay)
{
	struct export_set *set = opened(replay);
	uint64_t records;

	told(set, 1, 10);
	shown(set, S / 10);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	/* A time and a deviation of each. */
	assert_int_equal(records, 1 + 10 + 10);
	assert_int_equal(files("board/job/goodput", &records), 1);
	/* goodput, nine of badput, disruptions, the ideal. */
	assert_int_equal(records, 1 + 1 + 9 + 2);
	assert_string_equal(captured, "");
}

static void test_watch(void **state)
{
	(void)state;
	run_of(false);
}

static void test_replay(void **state)
{
	(void)state;
	run_of(true);
}

/* Of three facts one is no step, one was told before; the third has no time. */
static void test_not_told(void **state)
{
	struct export_set *set = opened(true);
	struct export_view view[EXPORT_VIEWS];
	struct snapshot s = {0};
	struct fact f = step(1, "job");
	uint64_t records;

	(void)state;
	f.repeated = true;
	export_set_fact(set, &f);
	f = step(2, "job");
	fact_step.step.unit = UNIT_EXECUTION;
	export_set_fact(set, &f);
	f = step(3, "job");
	f.real_ns = 0;
	export_set_fact(set, &f);
	export_set_view(set, &s);
	memcpy(view, s.exports, sizeof(view));
	assert_string_equal(view[0].name, "tensorboard");
	assert_string_equal(view[0].dropped[TB_DROP_CLOCK].cause, "no_clock");
	assert_int_equal(view[0].dropped[TB_DROP_CLOCK].count, 1);
	assert_int_equal(export_set_close(set), -EIO);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 0);
}

/* Deviations wait for the ideal, and come once. */
static void test_ideal_later(void **state)
{
	struct export_set *set = opened(true);
	uint64_t records;

	(void)state;
	told(set, 1, 2);
	shown(set, 0);
	told(set, 3, 4);
	shown(set, S / 10);
	shown(set, S / 10); /* nothing new: the job's time stands still */
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/goodput", &records), 1);
	assert_int_equal(records, 1 + 1 + 9 + 1);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 4 + 4);
}

/* A file of before is never written to again. */
static void test_restart(void **state)
{
	struct export_set *set;
	uint64_t records;

	(void)state;
	for (uint64_t n = 1; n <= 3; n++) {
		set = opened(true);
		told(set, n, n);
		assert_int_equal(export_set_close(set), 0);
	}
	assert_int_equal(files("board/job/run-1/rank-0", &records), 3);
	assert_int_equal(records, 6);
}

/* Killed: what was told before the state was saved is in the files; of what is told again each is
 * there once. */
static void test_killed(void **state)
{
	struct export_options o = {.resume = true};
	struct export_set *killed = opened(false), *set;
	uint64_t records;
	char spec[PATH_MAX + 32];

	(void)state;
	told(killed, 1, 5);
	export_set_save(killed);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 5);
	told(killed, 6, 9); /* these wait */
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 5);
	snprintf(spec, sizeof(spec), "tensorboard:%s", in_root("board"));
	assert_int_equal(export_set_new(&set, &o), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	for (uint64_t n = 4; n <= 9; n++) {
		struct fact f = step(n, "job");

		f.repeated = true;
		export_set_fact(set, &f);
	}
	told(set, 10, 10);
	export_set_save(set);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 2);
	assert_int_equal(records, 2 + 10);
	assert_int_equal(export_set_close(set), 0);
	export_set_close(killed);
}

static struct snapshot *made(void *ctx)
{
	++*(int *)ctx;
	return snapshot_of(S / 10);
}

/* A replay asks for a snapshot each interval, and where many steps wait for one. */
static void test_moments(void **state)
{
	struct export_set *set = opened(true);
	uint64_t records;
	int n = 0;

	(void)state;
	export_set_moment(set, 100 * S, made, &n);
	export_set_moment(set, 100 * S + S / 2, made, &n);
	assert_int_equal(n, 1);
	export_set_moment(set, 101 * S, made, &n);
	assert_int_equal(n, 2);
	assert_int_equal(export_set_close(set), 0);
	set = opened(true);
	shown(set, 0);
	for (uint64_t from = 1; from <= 10000; from += 2000) {
		told(set, from, from + 1999);
		export_set_moment(set, 100 * S, made, &n);
	}
	assert_int_equal(n, 3);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 2 * 10000);
}

/* What the thread has no chance to write is bounded, and counted. */
static void test_queue(void **state)
{
	struct export_set *set = opened(false);
	uint64_t records;

	(void)state;
	told(set, 1, 40000);
	shown(set, S / 10);
	assert_int_equal(export_set_close(set), -EIO);
	assert_non_null(strstr(captured, "7232 scalars were lost"));
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 2 * 32768);
}

/* A disk that takes a part of a record: it is cut off, kept, and written when there is room. */
static void test_full(void **state)
{
	struct rlimit was, small;
	struct export_view view = {0};
	struct tb_board *b;
	uint64_t records;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	for (int i = 0; i < 100; i++)
		put(b, "run", i);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = 1001;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	tb_board_flush(b);
	tb_board_flush(b);
	assert_int_equal(files("board/run", &records), 1);
	assert_in_range(records, 2, 99);
	tb_board_view(b, &view);
	assert_false(view.up);
	assert_int_equal(view.sent + view.waiting, 100);
	assert_non_null(strstr(view.trouble, "run: File too large"));
	/* One line, though it was tried twice. */
	assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	tb_board_flush(b);
	tb_board_view(b, &view);
	assert_true(view.up);
	assert_int_equal(view.sent, 100);
	assert_int_equal(tb_board_close(b), 0);
	assert_int_equal(files("board/run", &records), 1);
	assert_int_equal(records, 101);
}

/* As long as nothing can be written so much is kept; the rest is counted. */
static void test_bound(void **state)
{
	struct export_view view = {0};
	struct tb_board *b;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	assert_int_equal(symlink("/tmp", in_root("board/run")), 0);
	while (!view.dropped[TB_DROP_REFUSED].count && n < 1000000) {
		put(b, "run", (int64_t)n++);
		tb_board_view(b, &view);
	}
	assert_in_range(view.waiting_bytes, TB_RUN_BYTES, TB_RUN_BYTES + 100);
	assert_int_equal(view.waiting + 1, n);
	assert_int_equal(tb_board_close(b), -EIO);
	assert_non_null(strstr(captured, "run: Not a directory; up to 16 MB are kept"));
}

/* Links that somebody put there lead nowhere, and hold up nobody else. */
static void test_links(void **state)
{
	struct export_view view = {0};
	struct tb_board *b;
	uint64_t records;

	(void)state;
	assert_int_equal(mkdir(in_root("theirs"), 0700), 0);
	assert_int_equal(symlink("theirs", in_root("link")), 0);
	assert_int_equal(tb_board_open(&b, in_root("link"), false), -ENOTDIR);
	assert_non_null(strstr(captured, "not a folder, or a symbolic link"));
	assert_int_equal(mkdir(in_root("board"), 0700), 0);
	assert_int_equal(symlink("../theirs", in_root("board/job")), 0);
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	put(b, "job/run-1", 1);
	put(b, "other", 1);
	tb_board_flush(b);
	tb_board_view(b, &view);
	assert_int_equal(view.sent, 1);
	assert_int_equal(view.waiting, 1);
	assert_int_equal(files("board/other", &records), 1);
	assert_int_equal(tb_board_close(b), -EIO);
	assert_int_equal(entries(in_root("theirs")), 0);
}

/* Taken away, or written to by somebody else: a new file goes on. */
static void test_taken(void **state)
{
	struct tb_board *b;
	uint64_t records;

	(void)state;
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	put(b, "run", 1);
	tb_board_flush(b);
	assert_int_equal(nftw(in_root("board/run"), removed, 4, FTW_DEPTH | FTW_PHYS), 0);
	put(b, "run", 2);
	assert_int_equal(tb_board_close(b), 0);
	assert_int_equal(files("board/run", &records), 1);
	assert_int_equal(records, 2);
}

/* More runs than files are open at once. */
/* The folder itself is cleared away while it is written to. */
static void test_folder_taken(void **state)
{
	struct tb_board *b;
	struct export_view v;
	uint64_t records;

	(void)state;
	for (int helper = 0; helper < 2; helper++) {
		assert_int_equal(tb_board_open(&b, in_root("board"), helper), 0);
		put(b, "run", 1);
		tb_board_flush(b);
		assert_int_equal(nftw(in_root("board"), removed, 4, FTW_DEPTH | FTW_PHYS), 0);
		put(b, "run", 2);
		put(b, "other", 2);
		tb_board_flush(b);
		tb_board_view(b, &v);
		assert_int_equal(v.waiting, 0);
		assert_true(v.up);
		assert_int_equal(files("board/run", &records), 1);
		assert_int_equal(files("board/other", &records), 1);
		assert_int_equal(records, 2);
		assert_int_equal(tb_board_close(b), 0);
	}
}

static void test_many(void **state)
{
	struct tb_board *b;
	char run[32];
	uint64_t records;
	int open_before = entries("/proc/self/fd");

	(void)state;
	assert_int_equal(tb_board_open(&b, in_root("board"), false), 0);
	for (int i = 0; i < TB_RUNS + 10; i++) {
		snprintf(run, sizeof(run), "run-%d", i);
		put(b, run, i);
	}
	tb_board_flush(b);
	assert_int_equal(entries("/proc/self/fd"), open_before + 1 + TB_RUNS);
	put(b, "run-0", 1);
	assert_int_equal(tb_board_close(b), 0);
	assert_int_equal(files("board/run-0", &records), 2);
	assert_int_equal(records, 4);
	assert_int_equal(files("board/run-265", &records), 1);
	assert_int_equal(entries("/proc/self/fd"), open_before);
}

static void test_arguments(void **state)
{
	static const char *const wrong[] = {"tensorboard",
					    "tensorboard:",
					    "tensorboard:,interval=5s",
					    "tensorboard:/tmp/x,interval=5",
					    "tensorboard:/tmp/x,interval=0s",
					    "tensorboard:/tmp/x,interval=5000s"};
	struct export_set *set;

	(void)state;
	assert_int_equal(export_set_new(&set, NULL), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		captured[0] = '\0';
		assert_int_equal(export_set_add(set, wrong[i]), -EINVAL);
		assert_non_null(strstr(captured, "expected DIR"));
	}
	assert_int_equal(export_set_add(set, "tensorboard:/dev/null"), -ENOTDIR);
	assert_int_equal(export_set_add(set, "tensorboard:/proc/none/x"), -ENOENT);
	assert_int_equal(export_set_close(set), 0);
}

/* The process that writes: the last child that there is. */
static pid_t writer(void)
{
	char name[64];
	int pid = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(name, "r");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1)
		;
	fclose(f);
	assert_true(pid > 0);
	return pid;
}

/* One that is stopped stands for one that a disk holds: it is waited for once, and the end tells
 * what it cost. */
static void test_never_answers(void **state)
{
	struct export_set *set = opened(false);
	uint64_t records, from_ns;

	(void)state;
	told(set, 1, 5);
	export_set_save(set);
	kill(writer(), SIGSTOP);
	told(set, 6, 9);
	export_set_save(set);
	from_ns = clock_mono_ns();
	export_set_save(set);
	assert_true(clock_mono_ns() - from_ns < S / 4);
	told(set, 10, 12);
	from_ns = clock_mono_ns();
	export_set_end(set, true);
	assert_int_equal(export_set_close(set), -EIO);
	assert_true(clock_mono_ns() - from_ns < 3 * S);
	assert_non_null(
		strstr(captured, "/board: 7 scalars were lost: the disk does not answer\n"));
	assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 1);
	assert_int_equal(records, 1 + 5);
}

/* Who writes is killed: another one goes on, in a file of its own. */
static void test_replaced(void **state)
{
	struct export_set *set = opened(false);
	uint64_t records;

	(void)state;
	told(set, 1, 5);
	export_set_save(set);
	kill(writer(), SIGKILL);
	told(set, 6, 9);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(files("board/job/run-1/rank-0", &records), 2);
	assert_int_equal(records, 2 + 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_watch, begin, end),
		cmocka_unit_test_setup_teardown(test_replay, begin, end),
		cmocka_unit_test_setup_teardown(test_not_told, begin, end),
		cmocka_unit_test_setup_teardown(test_ideal_later, begin, end),
		cmocka_unit_test_setup_teardown(test_restart, begin, end),
		cmocka_unit_test_setup_teardown(test_killed, begin, end),
		cmocka_unit_test_setup_teardown(test_moments, begin, end),
		cmocka_unit_test_setup_teardown(test_queue, begin, end),
		cmocka_unit_test_setup_teardown(test_full, begin, end),
		cmocka_unit_test_setup_teardown(test_bound, begin, end),
		cmocka_unit_test_setup_teardown(test_links, begin, end),
		cmocka_unit_test_setup_teardown(test_folder_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_taken, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
		cmocka_unit_test_setup_teardown(test_arguments, begin, end),
		cmocka_unit_test_setup_teardown(test_never_answers, begin, end),
		cmocka_unit_test_setup_teardown(test_replaced, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
