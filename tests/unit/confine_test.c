/* SPDX-License-Identifier: Apache-2.0 */
/* confine: which calls are refused, and what goes on working, each in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/helper.h"
#include "userspace/base/confine.h"

/* In the child: a line on standard error, and the test fails. */
static void need(bool ok, const char *what)
{
	if (ok)
		return;
	dprintf(STDERR_FILENO, "not so: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool refused(long result, int err)
{
	return result < 0 && errno == err;
}

static void *thread(void *ctx)
{
	(void)ctx;
	return (void *)syscall(SYS_personality, 0xffffffff);
}

static void writes_itself(bool may)
{
	char from[4] = "new", to[4] = "old";
	struct iovec own = {from, sizeof(from)}, other = {to, sizeof(to)};
	long n = process_vm_writev(getpid(), &own, 1, &other, 1, 0);

	need(may ? n == sizeof(to) : refused(n, EPERM) && !strcmp(to, "old"), "process_vm_writev");
	need(process_vm_readv(getpid(), &own, 1, &other, 1, 0) == sizeof(to), "process_vm_readv");
}

static void machine(void)
{
	pthread_t t;
	void *result;
	pid_t pid;
	int status;

	/* Each of these succeeds without a privilege before, but for the terminal. */
	need(syscall(SYS_personality, 0xffffffff) >= 0, "personality before");
	need(!unshare(CLONE_FILES), "unshare before");
	writes_itself(true);
	need(!confine_calls(CONFINE_MACHINE), "confine_calls");
	need(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	need(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2, "filter");
	need(refused(syscall(SYS_personality, 0xffffffff), EPERM), "personality");
	need(refused(unshare(CLONE_FILES), EPERM), "unshare");
	need(refused(unshare(CLONE_NEWUSER), EPERM), "unshare of users");
	need(refused(setns(-1, CLONE_NEWNS), EPERM) && refused(setns(-1, 0), EPERM), "setns");
	need(refused(setns(-1, CLONE_NEWUSER), EBADF), "setns of users");
	need(refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM),
	     "clone of users");
	need(refused(syscall(SYS_clone3, NULL, 0), ENOSYS), "clone3");
	need(refused(syscall(SYS_keyctl, 0, -3, 0, 0, 0), EPERM), "keyctl");
	need(refused(syscall(SYS_userfaultfd, 0), EPERM), "userfaultfd");
	need(refused(syscall(SYS_io_uring_setup, 1, NULL), EPERM), "io_uring");
	need(refused(ioctl(STDIN_FILENO, TIOCSTI, "x"), EPERM), "TIOCSTI");
	need(refused(ioctl(STDIN_FILENO, TIOCSTI | 1ul << 32, "x"), EPERM),
	     "TIOCSTI with a high bit");
	writes_itself(false);
	/* And what everybody needs. */
	need(!pthread_create(&t, NULL, thread, NULL) && !pthread_join(t, &result) &&
		     (long)result == -1,
	     "thread");
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exec test \"$(echo x | cat)\" = x", NULL);
		_exit(2);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a shell with a pipe");
}

static void test_calls_that_change_the_machine(void **state)
{
	(void)state;
	in_child(machine);
}

static void reader(void)
{
	need(!confine_calls(CONFINE_MACHINE) && !confine_calls(CONFINE_READER), "confine_calls");
	need(refused(socket(AF_UNIX, SOCK_STREAM, 0), EPERM), "socket");
	need(refused(fork(), EPERM), "fork");
	need(refused(execl("/bin/true", "true", NULL), EPERM), "execve");
	need(refused(kill(getppid(), SIGWINCH), EPERM), "kill");
	need(!kill(getppid(), 0), "whether it is there");
	need(fopen("/proc/self/maps", "re"), "a file");
}

static void test_calls_of_a_reader(void **state)
{
	(void)state;
	in_child(reader);
}

static uint64_t status_of(const char *name)
{
	char line[256], format[32];
	uint64_t value = UINT64_MAX;
	FILE *f = fopen("/proc/self/status", "re");

	snprintf(format, sizeof(format), "%s: %%lx", name);
	while (f && value == UINT64_MAX && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &value) != 1)
			value = UINT64_MAX;
	if (f)
		fclose(f);
	return value;
}

static void capabilities(void)
{
	uint64_t had = status_of("CapPrm"), bounds = status_of("CapBnd");
	uint64_t keep = CONFINE_CAP(CAP_BPF) | CONFINE_CAP(CAP_KILL);
	bool may = had & CONFINE_CAP(CAP_SETPCAP);

	need(!confine_capabilities(keep), "confine_capabilities");
	need(status_of("CapPrm") == (had & keep), "permitted");
	need(status_of("CapEff") == (had & keep), "effective");
	need(status_of("CapBnd") == (may ? bounds & keep : bounds), "bounding");
	need(!status_of("CapInh") && !status_of("CapAmb"), "inheritable, ambient");
	/* Again, when there is nothing to give up, and no right to change the bounding set. */
	need(!confine_capabilities(keep), "confine_capabilities again");
	need(!confine_capabilities(0) && !status_of("CapPrm"), "none");
}

static void test_capabilities(void **state)
{
	(void)state;
	in_child(capabilities);
}

static void another_user(void)
{
	const uint64_t had = status_of("CapPrm"),
		       keep = CONFINE_CAP(CAP_FOWNER) | CONFINE_CAP(CAP_SYS_PTRACE);

	need(!prctl(PR_SET_KEEPCAPS, 1) && !setresuid(65534, 65534, 65534), "another user");
	need(!status_of("CapEff"), "effective before");
	need(!confine_capabilities(keep), "confine_capabilities");
	need(status_of("CapPrm") == (had & keep), "permitted");
	need(status_of("CapEff") == (had & keep), "effective");
}

static void test_capabilities_of_another_user(void **state)
{
	(void)state;
	if (geteuid() || !(status_of("CapEff") & CONFINE_CAP(CAP_SETUID)))
		skip();
	in_child(another_user);
}

static ssize_t look(const void *arg, void *ret, size_t cap)
{
	uint64_t *had = ret;

	(void)arg;
	need(cap >= 2 * sizeof(*had), "room");
	had[0] = status_of("CapPrm");
	had[1] = (uint64_t)(socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0);
	return 2 * sizeof(*had);
}

static void helpers(void)
{
	const uint64_t never = CONFINE_CAP(CAP_BPF) | CONFINE_CAP(CAP_KILL) |
			       CONFINE_CAP(CAP_SYS_ADMIN);
	const void *answer;
	struct helper *a;

	helper_confine(true);
	need(!helper_new(&a, 64), "helper_new");
	need(helper_call(a, look, "", 1, &answer) == 16, "helper_call");
	need(!(((const uint64_t *)answer)[0] & never), "capabilities of who reads");
	need(((const uint64_t *)answer)[1] == EPERM, "a socket of who reads");
	helper_free(a);
}

static void test_who_reads_for_us(void **state)
{
	(void)state;
	in_child(helpers);
}

/* As a container may. */
static void filters_refused(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	const void *answer;
	struct helper *a;

	need(f && !seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(seccomp), 0) &&
		     !seccomp_rule_add(f, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(prctl), 1,
				       SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)) &&
		     !seccomp_load(f),
	     "a filter that refuses filters");
	seccomp_release(f);
	need(confine_calls(CONFINE_MACHINE) < 0, "confine_calls");
	helper_confine(false);
	need(!helper_new(&a, 64), "helper_new");
	need(helper_call(a, look, "", 1, &answer) == 16, "helper_call");
	helper_free(a);
}

static void test_filters_are_refused(void **state)
{
	(void)state;
	in_child(filters_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_that_change_the_machine),
		cmocka_unit_test(test_calls_of_a_reader),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_capabilities_of_another_user),
		cmocka_unit_test(test_who_reads_for_us),
		cmocka_unit_test(test_filters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
