/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker process uses and waits for, from the real /proc and from a made one. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/identity/usage.h"
#include "userspace/identity/worker.h"

#define MS 1000000ull

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/worker_test.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Writes a file below the root, with its folders. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* A child that sleeps, and then computes for 50 ms. */
static void real_child(void **state)
{
	struct worker_usage before, after;
	uint64_t end_ns = clock_mono_ns() + 10000 * MS;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct timespec t;

		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		while (!t.tv_sec && t.tv_nsec < 50000000);
		pause();
		_exit(0);
	}
	do
		assert_int_equal(worker_usage("", pid, usage_delays(""), &before), 0);
	while (before.rest != WORKER_SLEEP && before.rest != WORKER_OTHER &&
	       clock_mono_ns() < end_ns);
	assert_int_equal(before.parent, getpid());
	do {
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		assert_int_equal(worker_usage("", pid, false, &after), 0);
	} while (after.cpu_ns < 45 * MS && clock_mono_ns() < end_ns);
	assert_in_range(after.cpu_ns, 45 * MS, 100 * MS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(worker_usage("", pid, false, &after) < 0);
}

static void put_worker(const char *state_letter, unsigned ticks, const char *wchan)
{
	char text[400];

	snprintf(
		text, sizeof(text),
		"7 (a b) c) %s 5 7 7 0 -1 4194560 100 0 0 0 %u 10 0 0 20 0 1 0 1234 1000 100 "
		"18446744073709551615 1 1 0 0 0 0 0 16781312 2 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		state_letter, ticks);
	put("proc/7/stat", text);
	put("proc/7/task/7/stat", text);
	put("proc/7/task/7/schedstat", "500000000 20000000 30\n");
	put("proc/7/wchan", wchan);
}

static void made(void **state)
{
	static const struct {
		const char *letter, *wchan;
		enum worker_rest rest;
	} cases[] = {
		{"R", "0", WORKER_RUNS},
		{"D", "0", WORKER_DISK},
		{"S", "0", WORKER_OTHER},
		{"S", "poll_schedule_timeout.constprop.0", WORKER_OTHER},
		{"S", "pipe_read", WORKER_OTHER},
		{"S", "hrtimer_nanosleep", WORKER_SLEEP},
		{"S", "wait_woken", WORKER_NETWORK},
		{"S", "request_wait_answer", WORKER_DISK},
		{"T", "do_signal_stop", WORKER_OTHER},
	};
	struct worker_usage u;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_worker(cases[i].letter, 40, cases[i].wchan);
		assert_int_equal(worker_usage(root, 7, false, &u), 0);
		assert_int_equal(u.rest, cases[i].rest);
		assert_int_equal(u.parent, 5);
		assert_int_equal(u.cpu_ns, 500 * MS);
		assert_int_equal(u.wait_ns, 20 * MS);
	}
	put_worker("S", 300, "0"); /* other threads used more */
	assert_int_equal(worker_usage(root, 7, false, &u), 0);
	assert_int_equal(u.cpu_ns, 3100 * MS);
	put("proc/7/stat", "7");
	assert_true(worker_usage(root, 7, false, &u) < 0);
}

static void pins(void **state)
{
	const pid_t tid[] = {7, 8, 9};

	(void)state;
	put("proc/7/task/7/comm", "python3\n");
	put("proc/7/task/9/comm", "pt_data_pin\n");
	assert_int_equal(worker_pin_thread(root, 7, tid, 3), 9);
	assert_int_equal(worker_pin_thread(root, 7, tid, 2), 0);
}

static void idle(void **state)
{
	static uint64_t ns[WORKER_CPUS];

	(void)state;
	assert_true(worker_idle("", ns) > 0);
	put("proc/stat", "cpu  9 9 9 999 9 9\ncpu0 1 2 3 100 20 0\ncpu3 1 2 3 50 0 0\n"
			 "cpu5000 1 2 3 4 5\ncpu4 broken\nintr 1 2 3\ncpu2 1 1 1 1 1\n");
	assert_int_equal(worker_idle(root, ns), 4);
	assert_int_equal(ns[0], 1200 * MS);
	assert_int_equal(ns[1], 0);
	assert_int_equal(ns[3], 500 * MS);
	put("proc/stat", "");
	assert_true(worker_idle(root, ns) < 0);
}

static void quota(void **state)
{
	char folder[100];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/group", root);
	assert_int_equal(worker_quota(""), 0);
	put("group/cpu.max", "250000 100000\n");
	assert_int_equal(worker_quota(folder), 250);
	put("group/cpu.max", "max 100000\n");
	assert_int_equal(worker_quota(folder), 0);
	put("group/cpu.cfs_quota_us", "-1\n");
	put("group/cpu.cfs_period_us", "100000\n");
	assert_int_equal(worker_quota(folder), 0);
	put("group/cpu.cfs_quota_us", "50000\n");
	assert_int_equal(worker_quota(folder), 50);
	put("group/cpu.cfs_period_us", "0\n");
	assert_int_equal(worker_quota(folder), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_child), cmocka_unit_test(made),  cmocka_unit_test(pins),
		cmocka_unit_test(idle),	      cmocka_unit_test(quota),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
