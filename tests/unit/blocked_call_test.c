/* SPDX-License-Identifier: Apache-2.0 */
/* Why a thread does not get on: of real processes that are blocked in each way, and of a made-up
 * /proc. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/identity/blocked_call.h"

#define PATIENCE_NS 20000000000ull

static const struct blocked_words words = {
	.threads = (const char *const[]){"nccl", "gloo", NULL},
	.devices = (const char *const[]){"/dev/other", "/dev/nvidia", NULL},
};
static char root[64];
static struct blocked_calls *blocked_calls;

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/gp-blocked-call-test-XXXXXX");
	blocked_calls = blocked_calls_new(&words);
	return blocked_calls && mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	blocked_calls_free(blocked_calls);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static const char *in_root(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

/* ---- real processes -------------------------------------------------------------------------- */

/* Nobody is left behind by a test that fails, or by a parent that was killed meanwhile. */
static void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static pid_t start(void (*body)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		die_with(parent);
		body();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* Looks until that is what is seen: a process needs a moment to come to where it blocks. */
static struct gp_blocked until(pid_t pid, enum gp_why why, const char *where)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;
	struct gp_blocked b = {0};

	do {
		assert_int_equal(
			blocked_calls_scan(blocked_calls, "", pid, pid, clock_mono_ns(), &b), pid);
		if (b.why == why && strstr(b.where, where))
			return b;
		usleep(2000);
	} while (clock_mono_ns() < end_ns);
	fail_msg("it %s (why %d), instead of %d: %s", b.where, b.why, why, where);
	return b;
}

static void finish(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void check(void (*body)(void), enum gp_why why, const char *where)
{
	pid_t pid = start(body);

	until(pid, why, where);
	finish(pid);
}

static void reads_fifo(void)
{
	char c;

	if (read(open(in_root("fifo"), O_RDWR), &c, 1) < 0)
		_exit(1);
}

static void opens_fifo(void)
{
	open(in_root("fifo"), O_RDONLY);
}

static void reads_pipe(void)
{
	int fds[2];
	char c;

	if (pipe(fds) || read(fds[0], &c, 1) < 0)
		_exit(1);
}

static void reads_socket(void)
{
	int fds[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || read(fds[0], &c, 1) < 0)
		_exit(1);
}

static void receives(void)
{
	int fds[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) || recv(fds[0], &c, 1, 0) < 0)
		_exit(1);
}

static void writes_pipe(void)
{
	static char much[1 << 20];
	int fds[2];

	if (pipe(fds) || write(fds[1], much, sizeof(much)) < 0)
		_exit(1);
}

static void locks(void)
{
	static uint32_t word;

	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void locks_file(void)
{
	flock(open(in_root("lock"), O_RDWR), LOCK_EX);
}

static void polls(void)
{
	struct pollfd p = {.fd = -1};

	poll(&p, 1, -1);
}

static void waits_events(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, -1);
}

static void serves(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr own = {.sa_family = AF_UNIX};

	if (bind(fd, &own, sizeof(own.sa_family)) || listen(fd, 1) || accept(fd, NULL, NULL) < 0)
		_exit(1);
}

static void waits_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		die_with(parent);
		pause();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void sleeps(void)
{
	sleep(1000);
}

static void runs(void)
{
	for (volatile uint64_t i = 0;; i++)
		;
}

static void each_way_to_wait(void **state)
{
	int held;

	(void)state;
	assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
	check(reads_fifo, GP_WHY_input, in_root("fifo"));
	check(opens_fifo, GP_WHY_input, "opens a ");
	check(reads_pipe, GP_WHY_input, "reads a pipe");
	check(reads_socket, GP_WHY_network, "reads a socket");
	check(receives, GP_WHY_network, "recvfrom");
	check(writes_pipe, GP_WHY_io, "write of pipe:");
	check(locks, GP_WHY_lock, "futex");
	held = open(in_root("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(held, LOCK_EX), 0);
	check(locks_file, GP_WHY_io, in_root("lock"));
	check(locks_file, GP_WHY_io, "/lock ("); /* and its file system */
	close(held);
	check(polls, GP_WHY_network, "polls one descriptor");
	check(waits_events, GP_WHY_idle, "epoll");
	check(serves, GP_WHY_idle, "accept");
	check(sleeps, GP_WHY_sleep, "sleeps");
	check(runs, GP_WHY_busy, "runs");
}

static void kernel_function_is_named(void **state)
{
	struct gp_blocked b;
	pid_t pid = start(locks);

	(void)state;
	b = until(pid, GP_WHY_lock, "futex");
	finish(pid);
	assert_int_equal(b.state, 'S');
	assert_int_equal(b.syscall, SYS_futex);
	assert_int_equal(b.arg[1], FUTEX_WAIT);
	assert_int_equal(b.source, GP_BLOCKED_SCAN);
	if (!geteuid()) /* others are not told */
		assert_non_null(strstr(b.wchan, "futex"));
}

static void stopped(void **state)
{
	pid_t pid = start(sleeps);
	char mine[64];

	(void)state;
	until(pid, GP_WHY_sleep,
	      "sleeps"); /* what goes on after the signals is not begun after them */
	kill(pid, SIGSTOP);
	until(pid, GP_WHY_stopped, "is stopped by a signal");
	kill(pid, SIGCONT);
	until(pid, GP_WHY_sleep, "sleeps");
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	snprintf(mine, sizeof(mine), "is stopped by process %d (", (int)getpid());
	until(pid, GP_WHY_stopped, mine);
	finish(pid);
}

/* A loader whose worker is stuck is told with it. */
static void waits_stuck_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		die_with(parent);
		reads_fifo();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void children(void **state)
{
	char text[200];
	struct gp_blocked b;
	pid_t pid, child;

	(void)state;
	assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
	pid = start(waits_stuck_child);
	b = until(pid, GP_WHY_child, "; its child ");
	snprintf(text, sizeof(text), "reads %s", in_root("fifo"));
	assert_non_null(strstr(b.where, text));
	assert_int_equal(sscanf(strstr(b.where, "its child "), "its child %d", &child), 1);
	kill(child, SIGKILL);
	finish(pid);
	pid = start(waits_child); /* one that only waits explains nothing */
	b = until(pid, GP_WHY_child, "waits for a child");
	assert_null(strstr(b.where, "its child"));
	finish(pid);
}

static void gone(void **state)
{
	struct gp_blocked b;
	pid_t pid = start(sleeps);

	(void)state;
	finish(pid);
	assert_int_equal(blocked_calls_scan(blocked_calls, "", pid, pid, 1, &b), -ESRCH);
	assert_int_equal(blocked_calls_scan(blocked_calls, "", getpid(), pid, 1, &b),
			 getpid()); /* a thread that is gone */
}

/* ---- a made-up /proc ------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p %s/proc/7/task/7 %s/proc/7/fd", root, root);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/proc/7/%s", root, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct gp_blocked look(void)
{
	struct gp_blocked b;

	assert_int_equal(blocked_calls_scan(blocked_calls, root, 7, 7, 1000, &b), 7);
	return b;
}

static void put_ticks(const char *name, char state, int ticks)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "7 (a) S (b) %c 1 7 7 0 -1 4194304 100 0 0 0 5 %d 0 0 20 0 1 0 77 1000\n", state,
		 ticks - 5);
	put(name, line);
}

static void put_state(char state)
{
	put_ticks("task/7/stat", state, 11);
	put_ticks("stat", state, 11);
}

/* A thread that is found waiting ran most of the time since: it is busy all the same. */
static void processor_time_counts(void **state)
{
	char call[100];
	uint64_t second_ns = 1000000000ull;
	struct gp_blocked b;

	(void)state;
	put_state('S');
	snprintf(call, sizeof(call), "%d 0x5 0x80 0x3 0x4 0x5 0x6 0x7 0x8\n", SYS_futex);
	put("task/7/syscall", call);
	blocked_calls_scan(blocked_calls, root, 7, 7, second_ns, &b);
	assert_int_equal(b.why, GP_WHY_lock);
	put_ticks("task/7/stat", 'S', 11 + 10);
	put_ticks("stat", 'S', 11 + 10);
	blocked_calls_scan(blocked_calls, root, 7, 7, 2 * second_ns,
			   &b); /* a tenth of the second */
	assert_int_equal(b.why, GP_WHY_lock);
	put_ticks("task/7/stat", 'S', 21 + 30);
	blocked_calls_scan(blocked_calls, root, 7, 7, 3 * second_ns, &b);
	assert_int_equal(b.why, GP_WHY_busy);
	put_ticks("stat", 'S', 21 + 90); /* other threads of its process */
	blocked_calls_scan(blocked_calls, root, 7, 7, 4 * second_ns, &b);
	assert_int_equal(b.why, GP_WHY_busy);
	put_ticks("stat", 'S', 111 + 90);
	put_ticks("task/7/stat", 'T', 21 + 30);
	blocked_calls_scan(blocked_calls, root, 7, 7, 5 * second_ns, &b);
	assert_int_equal(b.why, GP_WHY_stopped);
}

static void hostile(void **state)
{
	char path[300], call[100];
	struct gp_blocked b;

	(void)state;
	put("task/7/stat", "");
	assert_int_equal(blocked_calls_scan(blocked_calls, root, 7, 7, 1000, &b), -ESRCH);
	put("task/7/stat", "7 (x");
	assert_int_equal(blocked_calls_scan(blocked_calls, root, 7, 7, 1000, &b), -EBADMSG);
	put_state('S'); /* nothing else can be read */
	b = look();
	assert_int_equal(b.why, GP_WHY_unknown);
	assert_int_equal(b.syscall, -1);
	put("task/7/syscall", "99999999999999999999 0x1 0x2");
	assert_int_equal(look().why, GP_WHY_unknown);
	put("task/7/syscall",
	    "4294967290 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n"); /* no number of this size */
	assert_int_equal(look().syscall, -1);
	put("task/7/syscall", "running\n");
	assert_int_equal(look().why, GP_WHY_unknown);
	put("task/7/syscall", "1000 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n");
	assert_string_equal(look().where, "is in system call 1000");
	put("task/7/wchan", "\033[31mevil");
	assert_string_equal(look().wchan, "");
	put("task/7/wchan", "0");
	put("task/7/stack", "[<0>] nfs_wait_bit_killable+0x1/0x2\n[<0>] b\n");
	assert_string_equal(look().wchan, "nfs_wait_bit_killable");
	snprintf(call, sizeof(call), "%d 0x5 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n", SYS_read);
	put("task/7/syscall", call);
	assert_string_equal(look().where, "is in read of descriptor 5");
	snprintf(path, sizeof(path), "%s/proc/7/fd/5", root);
	assert_int_equal(symlink("/data/\033[2Jx", path), 0);
	b = look();
	assert_int_equal(b.why, GP_WHY_input);
	assert_null(strchr(b.where, '\033'));
	unlink(path);
	memset(call, 'x', sizeof(call) - 1);
	call[0] = '/';
	call[sizeof(call) - 1] = 0;
	assert_int_equal(symlink(call, path), 0);
	b = look(); /* told by its end */
	assert_int_equal(strlen(b.where), sizeof(b.where) - 1);
	assert_int_equal(strncmp(b.where, "reads ...xxx", 12), 0);
	put_state('D');
	assert_int_equal(look().why, GP_WHY_io);
	unlink(path);
	assert_int_equal(symlink("/dev/pts/3", path), 0);
	put_state('S');
	assert_int_equal(look().why, GP_WHY_idle);
	put("task/7/children", "7 7 -1 0 99999999999 x");
	look();
}

static void device(void **state)
{
	char path[300], call[100];

	(void)state;
	put_state('S');
	snprintf(call, sizeof(call), "%d 0x5 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n", SYS_ioctl);
	put("task/7/syscall", call);
	snprintf(path, sizeof(path), "%s/proc/7/fd/5", root);
	assert_int_equal(symlink("/dev/nvidia0", path), 0);
	assert_int_equal(look().why, GP_WHY_device);
	assert_string_equal(look().where, "is in ioctl of /dev/nvidia0");
	put_state('D');
	assert_int_equal(look().why, GP_WHY_device);
}

static void gloo(void **state)
{
	char call[100];

	(void)state;
	put_state('S');
	snprintf(call, sizeof(call), "%d 0x5 0x80 0x3 0x4 0x5 0x6 0x7 0x8\n", SYS_futex);
	put("task/7/syscall", call);
	put("task/7/comm", "gloo_tcp_loop\n");
	assert_int_equal(look().why, GP_WHY_lock);
	assert_string_equal(look().where, "waits on a futex beside gloo_tcp_loop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_way_to_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(kernel_function_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(children, setup, teardown),
		cmocka_unit_test_setup_teardown(processor_time_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(gone, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(device, setup, teardown),
		cmocka_unit_test_setup_teardown(gloo, setup, teardown),
	};

	return cmocka_run_group_tests_name("blocked_call", tests, NULL, NULL);
}
