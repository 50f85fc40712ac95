/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/process.h"

static char root[64];

static void run(const char *what)
{
	char command[128];

	snprintf(command, sizeof(command), "%s %s", what, root);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gp-process-test-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	run("rm -rf");
	return 0;
}

/* A file of the made-up /proc. */
static void put(int pid, const char *name, const void *data, size_t len)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/proc", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, pid, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void put_stat(int pid, const char *comm, int parent, unsigned long long ticks)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "%d (%s) S %d 7 7 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 1 0 %llu 1000 20 "
		 "18446744073709551615\n",
		 pid, comm, parent, ticks);
	put(pid, "stat", line, strlen(line));
}

static void put_process(int pid, const char *comm, const char *env, size_t len)
{
	put_stat(pid, comm, 1, 4200);
	put(pid, "cmdline", "python\0train.py\0--lr\n\0", 22);
	put(pid, "environ", env, len);
}

#define ENVIRON(s) s, sizeof(s)

static void test_reads_itself(void **state)
{
	uint64_t now = clock_boot_ns();
	struct gp_process p;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) S 1 (b"), 0);
	memset(&p, 0xff, sizeof(p));
	assert_int_equal(process_read("", getpid(), &p), 0);
	assert_string_equal(p.comm, "a) S 1 (b");
	assert_int_equal(p.parent, getppid());
	assert_int_equal(p.flags, 0);
	assert_int_equal(p.start_ns % 10000000, 0);
	assert_true(p.start_ns <= now);
	assert_true(p.start_mono_ns <= clock_mono_ns());
	assert_int_equal(p.start_ns, process_start_ns("", getpid()));
	assert_non_null(strstr(p.command, "process_test"));
}

static void test_no_such_process(void **state)
{
	struct gp_process p;
	pid_t *pids, child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_read("", child, &p), -ESRCH);
	assert_int_equal(process_start_ns("", child), 0);
	assert_int_equal(process_descendants("", child, &pids), -ESRCH);
	assert_int_equal(process_read(root, 1, &p), -ESRCH);
}

static void test_hostile_comm(void **state)
{
	struct gp_process p;

	(void)state;
	put_process(5, "x) R 99\n(\033", ENVIRON("A=1"));
	assert_int_equal(process_read(root, 5, &p), 0);
	assert_string_equal(p.comm, "x) R 99?(?");
	assert_int_equal(p.parent, 1);
	assert_int_equal(p.start_ns, 42000000000);
	assert_string_equal(p.command, "python train.py --lr?");
	assert_int_equal(p.rank, -1);
	assert_int_equal(p.world_size, -1);
	assert_int_equal(p.local_rank, -1);
	assert_string_equal(p.job, "");
}

static void test_owner_of_a_thread(void **state)
{
	static const char hostile[] =
		"Name:\tx\\nTgid:\t9\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\n";

	(void)state;
	assert_int_equal(proc_owner("", getpid()), getpid());
	put(8, "status", hostile, strlen(hostile));
	assert_int_equal(proc_owner(root, 8), 7);
	put(8, "status", "Name:\tx\n", 8);
	assert_int_equal(proc_owner(root, 8), 0);
	assert_int_equal(proc_owner(root, 9), 0);
}

static void test_bad_stat(void **state)
{
	static const char *const lines[] = {"5",     "5 (x",	"5 x) S 1",
					    "5 (x)", "5 (x) S", "5 (x) S 1 2 3"};
	struct gp_process p;

	(void)state;
	put_process(5, "x", ENVIRON(""));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put(5, "stat", lines[i], strlen(lines[i]));
		assert_int_equal(process_read(root, 5, &p), -EBADMSG);
	}
	put(5, "stat", "", 0);
	assert_int_equal(process_read(root, 5, &p), -ESRCH);
}

static void test_environment(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int rank, world_size, local_rank;
		const char *job;
	} cases[] = {
		{ENVIRON("RANK=3\0WORLD_SIZE=8\0LOCAL_RANK=1\0TORCHELASTIC_RUN_ID=none\0SLURM_JOB_ID=77"),
		 3, 8, 1, "77"},
		{ENVIRON("SLURM_PROCID=9\0RANK=2\0SLURM_NTASKS=16\0SLURM_JOB_ID=5\0TORCHELASTIC_RUN_ID=run"),
		 2, 16, -1, "5"}, /* whatever runs in it is Slurm's job */
		{ENVIRON("JOBSET_NAME=set\0SLURM_JOB_ID=5"), -1, -1, -1, "set"},
		{ENVIRON("RANK=2\0LOCAL_RANK=0\0SLURM_PROCID=1\0SLURM_NTASKS=4\0SLURM_LOCALID=1"
			 "\0WORLD_SIZE=32"),
		 2, 32, 0, ""},
		{ENVIRON("JAX_PROCESS_ID=1\0JAX_NUM_PROCESSES=4\0SLURM_PROCID=9\0SLURM_NTASKS=16"),
		 1, 4, -1, ""},
		{ENVIRON("JAX_PROCESS_INDEX=3\0JAX_PROCESS_COUNT=4"), 3, 4, -1, ""},
		/* Of the pod or the host, which may hold several processes. */
		{ENVIRON("JOB_COMPLETION_INDEX=3\0TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b"), -1,
		 -1, -1, ""},
		{ENVIRON("OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_SIZE=2\0OMPI_COMM_WORLD_LOCAL_RANK=0"),
		 0, 2, 0, ""},
		{ENVIRON("PMI_RANK=1\0PMI_SIZE=4\0XRANK=9\0RANKX=9"), 1, 4, -1, ""},
		{ENVIRON("RANK=-1\0WORLD_SIZE=0x8\0LOCAL_RANK= 1"), -1, -1, -1, ""},
		{ENVIRON("RANK=2147483648\0WORLD_SIZE=99999999999999999999\0LOCAL_RANK="), -1, -1,
		 -1, ""},
		{ENVIRON("RANK=1\0RANK=2"), 1, -1, -1, ""},
		{ENVIRON("TORCHELASTIC_RUN_ID=a\nb\0noequals\0=x\0\0RANK=4"), 4, -1, -1, "a?b"},
		{"RANK=6", 6, 6, -1, -1, ""}, /* the last one unterminated */
	};
	struct gp_process p;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_process(5, "x", cases[i].text, cases[i].len);
		assert_int_equal(process_read(root, 5, &p), 0);
		assert_int_equal(p.rank, cases[i].rank);
		assert_int_equal(p.world_size, cases[i].world_size);
		assert_int_equal(p.local_rank, cases[i].local_rank);
		assert_string_equal(p.job, cases[i].job);
	}
}

/* Wherever the entry falls on the chunks the file is read in, and however long its neighbours
 * are. */
static void test_large_environment(void **state)
{
	static const char entry[] = "\0RANK=1234";
	size_t len = 3 << 20;
	char *text = malloc(len);
	struct gp_process p;

	(void)state;
	for (size_t shift = 0; shift <= sizeof(entry) + 1; shift++) {
		memset(text, 'R', len);
		memcpy(text + (128 << 10) - shift, entry, sizeof(entry));
		put_process(5, "x", text, len);
		assert_int_equal(process_read(root, 5, &p), 0);
		assert_int_equal(p.rank, 1234);
	}
	memset(text, 'R', len);
	memcpy(text + (2 << 20), entry, sizeof(entry)); /* beyond what is looked at */
	put_process(5, "x", text, len);
	assert_int_equal(process_read(root, 5, &p), 0);
	assert_int_equal(p.rank, -1);
	/* A name that begins like one of ours and never ends. */
	memcpy(text, "RANK=1", 6);
	put_process(5, "x", text, 1000);
	assert_int_equal(process_read(root, 5, &p), 0);
	assert_int_equal(p.rank, -1);
	free(text);
}

static void test_long_command(void **state)
{
	char argv[8192];
	struct gp_process p;

	(void)state;
	put_process(5, "x", ENVIRON(""));
	memset(argv, 'a', sizeof(argv));
	put(5, "cmdline", argv, sizeof(argv));
	assert_int_equal(process_read(root, 5, &p), 0);
	assert_int_equal(strlen(p.command), sizeof(p.command) - 1);
	put(5, "cmdline", "", 0); /* a kernel thread, a zombie */
	assert_int_equal(process_read(root, 5, &p), 0);
	assert_string_equal(p.command, "");
}

static int has(const pid_t *pids, int count, pid_t pid)
{
	int found = 0;

	for (int i = 0; i < count; i++)
		found += pids[i] == pid;
	return found;
}

/* Without children files: a chain against the order of pids, a cycle, and strangers. */
static void test_descendants_by_parent(void **state)
{
	pid_t *pids;

	(void)state;
	put_stat(50, "x", 1, 1);
	for (int i = 49; i >= 10; i--)
		put_stat(i, "x", i + 1, 1);
	put_stat(60, "x", 50, 1);
	put_stat(61, "x", 62, 1);
	put_stat(62, "x", 61, 1);
	put_stat(70, "x", 1, 1);
	assert_int_equal(process_descendants(root, 50, &pids), 42);
	assert_int_equal(pids[0], 50);
	assert_int_equal(has(pids, 42, 10), 1);
	assert_int_equal(has(pids, 42, 60), 1);
	assert_int_equal(has(pids, 42, 70), 0);
	free(pids);
	assert_int_equal(process_descendants(root, 61, &pids), 2);
	free(pids);
}

static void test_descendants_live(void **state)
{
	pid_t child, grandchild = 0, *pids;
	int pipe_fd[2], count;

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	child = fork();
	if (!child) {
		grandchild = fork();
		if (!grandchild) {
			for (;;)
				pause();
		}
		if (write(pipe_fd[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipe_fd[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	count = process_descendants("", getpid(), &pids);
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(count, 3);
	assert_int_equal(pids[0], getpid());
	assert_int_equal(has(pids, count, child), 1);
	assert_int_equal(has(pids, count, grandchild), 1);
	free(pids);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reads_itself),	  TEST(test_no_such_process),
		TEST(test_hostile_comm),	  TEST(test_bad_stat),
		TEST(test_owner_of_a_thread),	  TEST(test_environment),
		TEST(test_large_environment),	  TEST(test_long_command),
		TEST(test_descendants_by_parent), TEST(test_descendants_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
