/* SPDX-License-Identifier: Apache-2.0 */
/* helper: an answer, an error, what never comes back, who dies, and what the other process holds of
 * ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/helper.h"

static ssize_t twice(const void *arg, void *ret, size_t cap)
{
	int n = *(const int *)arg * 2;

	if (cap < sizeof(n))
		return -ENOBUFS;
	memcpy(ret, &n, sizeof(n));
	return sizeof(n);
}

static ssize_t who(const void *arg, void *ret, size_t cap)
{
	pid_t pid = getpid();

	(void)arg;
	if (cap < sizeof(pid))
		return -ENOBUFS;
	memcpy(ret, &pid, sizeof(pid));
	return sizeof(pid);
}

static ssize_t refuse(const void *arg, void *ret, size_t cap)
{
	(void)ret;
	(void)cap;
	return *(const int *)arg;
}

static ssize_t never(const void *arg, void *ret, size_t cap)
{
	(void)arg;
	(void)ret;
	(void)cap;
	pause(); /* signals are held up */
	return 0;
}

static ssize_t die(const void *arg, void *ret, size_t cap)
{
	(void)arg;
	(void)ret;
	(void)cap;
	_exit(7);
}

/* How many descriptors it has, and whether the kept one is the file of ours. */
static ssize_t holds(const void *arg, void *ret, size_t cap)
{
	int *out = ret, count = 0;
	DIR *dir = opendir("/proc/self/fd");
	char byte = 0;

	(void)arg;
	if (cap < 2 * sizeof(*out))
		return -ENOBUFS;
	while (dir && readdir(dir))
		count++;
	out[0] = count;
	out[1] = pread(HELPER_KEPT_FD, &byte, 1, 0) == 1 ? byte : -1;
	return 2 * sizeof(*out);
}

static void calls(void **state)
{
	const void *answer;
	struct helper *a;
	int n = 21, error = -ESRCH;

	(void)state;
	assert_int_equal(helper_new(&a, 4096), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(helper_call(a, twice, &n, sizeof(n), &answer), sizeof(n));
		assert_int_equal(*(const int *)answer, 42);
		assert_int_equal(helper_call(a, refuse, &error, sizeof(error), &answer), -ESRCH);
	}
	assert_true(helper_cpu_ns(a) > 0);
	assert_int_equal(helper_call(a, twice, &n, HELPER_ARG_MAX + 1, &answer), -E2BIG);
	helper_free(a);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
	helper_free(NULL);
}

static pid_t server(struct helper *a)
{
	const void *answer;

	assert_int_equal(helper_call(a, who, "", 1, &answer), sizeof(pid_t));
	return *(const pid_t *)answer;
}

static void what_never_comes_back(void **state)
{
	const void *answer;
	struct helper *a;
	pid_t first;

	(void)state;
	assert_int_equal(helper_new(&a, 4096), 0);
	first = server(a);
	assert_int_not_equal(first, getpid());
	/* More than there are places for those that cannot be killed: these can. */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(helper_call(a, never, "", 1, &answer), -ETIMEDOUT);
		assert_int_not_equal(server(a), first);
	}
	assert_int_equal(kill(first, 0), -1);
	helper_free(a);
}

static void asked_and_answered_later(void **state)
{
	struct helper *a = NULL;
	const void *answer;
	ssize_t got = -EAGAIN;
	int n = 21;

	(void)state;
	assert_int_equal(helper_new(&a, 64), 0);
	assert_int_equal(helper_answer(a, 0, &answer), -EIO); /* nothing was asked */
	assert_int_equal(helper_ask(a, twice, &n, sizeof(n)), 0);
	for (int i = 0; i < 1000 && got == -EAGAIN; i++)
		got = helper_answer(a, 100, &answer);
	assert_int_equal(got, sizeof(n));
	assert_int_equal(*(const int *)answer, 42);
	assert_int_equal(helper_ask(a, never, "", 1), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(helper_answer(a, 0, &answer), -EAGAIN);
	helper_drop(a);
	assert_int_equal(helper_answer(a, 0, &answer), -EIO);
	assert_int_equal(helper_ask(a, die, "", 1), 0);
	for (got = -EAGAIN; got == -EAGAIN;)
		got = helper_answer(a, 100, &answer);
	assert_int_equal(got, -EIO);
	assert_int_equal(helper_call(a, twice, &n, sizeof(n), &answer),
			 sizeof(n)); /* another one is there */
	assert_int_equal(*(const int *)answer, 42);
	helper_free(a);
}

static void who_dies(void **state)
{
	const void *answer;
	struct helper *a;
	pid_t first;

	(void)state;
	assert_int_equal(helper_new(&a, 4096), 0);
	first = server(a);
	kill(first, SIGKILL);
	assert_int_not_equal(server(a), first);
	assert_int_equal(helper_call(a, die, "", 1, &answer), -EIO);
	assert_true(server(a) > 0);
	helper_free(a);
}

static void what_it_holds(void **state)
{
	char name[] = "/tmp/helper_test.XXXXXX";
	const void *answer;
	struct helper *a;
	int fd = mkstemp(name), held[2];

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, "k", 1), 1);
	assert_int_equal(helper_new(&a, 4096), 0);
	helper_keep(a, fd);
	assert_int_equal(helper_call(a, holds, "", 1, &answer), sizeof(held));
	memcpy(held, answer, sizeof(held));
	assert_int_equal(held[0], 5 + 1 + 2); /* 0 to 4, that of the directory, its . and .. */
	assert_int_equal(held[1], 'k');
	helper_free(a);
	close(fd);
}

static void one_call(void **state)
{
	int n = 21, twice_n = 0;
	pid_t other = 0;

	(void)state;
	assert_int_equal(helper_once(twice, &n, sizeof(n), &twice_n, sizeof(twice_n), 5000),
			 sizeof(n));
	assert_int_equal(twice_n, 42);
	assert_int_equal(helper_once(who, "", 1, &other, sizeof(other), 5000), sizeof(other));
	assert_int_not_equal(other, getpid());
	assert_int_equal(helper_once(refuse, &(int){-ENXIO}, sizeof(int), NULL, 0, 5000), -ENXIO);
	assert_int_equal(helper_once(never, "", 1, NULL, 0, 30), -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(what_never_comes_back),
		cmocka_unit_test(asked_and_answered_later),
		cmocka_unit_test(who_dies),
		cmocka_unit_test(what_it_holds),
		cmocka_unit_test(one_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
