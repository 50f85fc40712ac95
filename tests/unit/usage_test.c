/* SPDX-License-Identifier: Apache-2.0 */
/* What threads used and waited for, from the real /proc and from a made one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/identity/usage.h"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/usage_test.XXXXXX");
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

static void put_pressure(const char *folder, const char *suffix, int total_us)
{
	static const char *const names[] = {"cpu", "memory", "io"};
	char path[300], text[128];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", folder, names[i], suffix);
		snprintf(text, sizeof(text),
			 "some avg10=0.00 avg60=0.13 avg300=0.40 total=%d\n"
			 "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
			 total_us + i);
		put(path, text);
	}
}

static void of_this_thread(void **state)
{
	uint64_t until_ns = clock_mono_ns() + 50000000;
	struct gp_usage before, after;
	pid_t tid[4];

	(void)state;
	assert_int_equal(usage_thread("", getpid(), getpid(), false, &before), 0);
	while (clock_mono_ns() < until_ns)
		;
	assert_int_equal(usage_scheduled("", getpid(), getpid(), &after), 0);
	/* The busy loop took 50 ms, on a CPU or waiting for one. */
	assert_in_range(after.cpu_ns + after.wait_ns - before.cpu_ns - before.wait_ns, 40000000,
			1000000000);
	assert_int_equal(usage_threads("", getpid(), tid, 4), 1);
	assert_int_equal(tid[0], getpid());
	assert_int_equal(usage_threads("", getpid(), tid, 0), 0);
}

static void thread_files(void **state)
{
	struct gp_usage u;

	(void)state;
	put("proc/5/task/6/schedstat", "1000 2000 3\n");
	put("proc/5/task/6/stat",
	    "6 (a) b (c) R 1 2 3 4 5 6 70 80 90 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
	    "27 28 29 30 31 32 33 34 35 36 37 38 7 40 41 42\n");
	assert_int_equal(usage_thread(root, 5, 6, false, &u), 0);
	assert_int_equal(u.cpu_ns, 1000);
	assert_int_equal(u.wait_ns, 2000);
	assert_int_equal(u.major_faults, 90);
	assert_int_equal(u.minor_faults, 70);
	assert_int_equal(u.system_ns, 120000000);
	assert_int_equal(u.block_ns, 70000000);
	assert_int_equal(u.flags, GP_USAGE_BLOCK | GP_USAGE_SYSTEM);
	assert_int_equal(u.mhz, 0);
	put("sys/devices/system/cpu/cpu36/cpufreq/scaling_cur_freq", "2400123\n");
	assert_int_equal(usage_thread(root, 5, 6, false, &u), 0);
	assert_int_equal(u.mhz, 2400);
	put("sys/devices/system/cpu/cpu36/cpufreq/scaling_cur_freq", "<unknown>\n");
	assert_int_equal(usage_thread(root, 5, 6, false, &u), 0);
	assert_int_equal(u.mhz, 0);
	put("proc/5/task/6/stat", "6 (a) R 1 2 3\n");
	assert_true(usage_thread(root, 5, 6, false, &u) < 0);
	put("proc/5/task/6/schedstat", "no numbers\n");
	assert_true(usage_scheduled(root, 5, 6, &u) < 0);
	put("proc/5/task/6/schedstat", "");
	assert_true(usage_scheduled(root, 5, 6, &u) < 0);
	assert_true(usage_scheduled(root, 5, 7, &u) < 0);
	assert_false(usage_delays(root));
	put("proc/sys/kernel/task_delayacct", "1\n");
	assert_true(usage_delays(root));
}

static void version_2(void **state)
{
	struct usage_group g;
	struct gp_pressure p;

	(void)state;
	put("proc/5/cgroup", "0::/kubepods.slice/pod1\n");
	put("sys/fs/cgroup/kubepods.slice/pod1/cpu.stat",
	    "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 250\n");
	put_pressure("sys/fs/cgroup/kubepods.slice/pod1", ".pressure", 100);
	assert_int_equal(usage_group_find(root, 5, &g), 0);
	assert_true(g.own);
	usage_pressure(&g, &p);
	assert_int_equal(p.flags, GP_PRESSURE_THROTTLE | GP_PRESSURE_STALL | GP_PRESSURE_GROUP);
	assert_int_equal(p.throttled_ns, 250000);
	assert_int_equal(p.stall_ns[GP_STALL_CPU], 100000);
	assert_int_equal(p.stall_ns[GP_STALL_MEMORY], 101000);
	assert_int_equal(p.stall_ns[GP_STALL_IO], 102000);
}

static void version_1(void **state)
{
	struct usage_group g;
	struct gp_pressure p;

	(void)state;
	put("proc/5/cgroup", "4:memory:/m\n3:cpuset:/no\n1:cpuacct,cpu:/job\n0::/u\n");
	put("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 77\n");
	put_pressure("sys/fs/cgroup/unified/u", ".pressure", 5);
	assert_int_equal(usage_group_find(root, 5, &g), 0);
	usage_pressure(&g, &p);
	assert_int_equal(p.flags, GP_PRESSURE_THROTTLE | GP_PRESSURE_STALL | GP_PRESSURE_GROUP);
	assert_int_equal(p.throttled_ns, 77);
	assert_int_equal(p.stall_ns[GP_STALL_CPU], 5000);
}

/* memory.high slows down threads: its count, of the innermost group that has such a limit. */
static void high(void **state)
{
	struct usage_group g;
	struct gp_pressure p;

	(void)state;
	put("proc/5/cgroup", "0::/pod/job/rank\n");
	put_pressure("sys/fs/cgroup/pod/job/rank", ".pressure", 100);
	put("sys/fs/cgroup/pod/job/rank/memory.high", "max\n");
	put("sys/fs/cgroup/pod/job/rank/memory.events", "low 0\nhigh 1\n");
	put("sys/fs/cgroup/pod/job/memory.high", "1073741824\n");
	put("sys/fs/cgroup/pod/job/memory.events", "low 0\nhigh 412\nmax 3\noom 0\n");
	put("sys/fs/cgroup/pod/memory.high", "4096\n");
	usage_group_find(root, 5, &g);
	usage_pressure(&g, &p);
	assert_int_equal(p.flags, GP_PRESSURE_STALL | GP_PRESSURE_GROUP | GP_PRESSURE_HIGH);
	assert_int_equal(p.high, 412);
	/* the wait for reclaim is in memory.pressure */
	assert_int_equal(p.stall_ns[GP_STALL_MEMORY], 101000);
	put("sys/fs/cgroup/pod/job/memory.events", "high none\n");
	usage_pressure(&g, &p);
	assert_false(p.flags & GP_PRESSURE_HIGH);
	put("sys/fs/cgroup/pod/job/memory.high", "max\n");
	put("sys/fs/cgroup/pod/memory.high", "max\n");
	usage_group_find(root, 5, &g);
	assert_string_equal(g.high, "");
}

/* Without pressure of its control group, that of the machine is used, and said to be so. */
static void machine(void **state)
{
	struct usage_group g;
	struct gp_pressure p;

	(void)state;
	put("proc/5/cgroup", "0::/gone\n");
	usage_group_find(root, 5, &g);
	usage_pressure(&g, &p);
	assert_int_equal(p.flags, 0);
	put_pressure("proc/pressure", "", 8);
	usage_group_find(root, 5, &g);
	usage_pressure(&g, &p);
	assert_int_equal(p.flags, GP_PRESSURE_STALL);
	assert_int_equal(p.stall_ns[GP_STALL_CPU], 8000);
	assert_true(usage_group_find(root, 99, &g) < 0);
}

/* Paths of other control group namespaces, and paths that lead elsewhere. */
static void hostile(void **state)
{
	static const char *const lines[] = {
		"0::/../../pod2\n", "0::/a/../../../etc\n", "0::/..\n", "0::\n", ":\n",
		"0:cpu\n",	    "1:cpu:/../../../etc",  "\n\n\n"};
	struct usage_group g;

	(void)state;
	put("etc/cpu.stat", "throttled_usec 1\n");
	put("etc/cpu.pressure", "some total=1\n");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put("proc/5/cgroup", lines[i]);
		usage_group_find(root, 5, &g);
		assert_string_equal(g.cpu, "");
		assert_false(g.own);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_this_thread),
		T(thread_files),
		T(version_2),
		T(version_1),
		T(high),
		T(machine),
		T(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
