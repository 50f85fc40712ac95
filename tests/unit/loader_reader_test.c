/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of libraries, asked for more than they can do at once. That a wait ends is told by what
 * it waits for: poll() is this file's own here. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/reader/reader.h"

#define AT_ONCE 4 /* as reader.h promises */

static int waits_for_nobody;

/* Until all of them have answered. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	nfds_t ready = 0;

	(void)timeout_ms;
	waits_for_nobody += !n;
	while (n && ready < n) {
		if (syscall(SYS_ppoll, fds, n, NULL, NULL, 0) < 0)
			return -1;
		ready = 0;
		for (nfds_t i = 0; i < n; i++)
			ready += fds[i].revents != 0;
	}
	return (int)n;
}

/* Of a process that has ended. */
static pid_t pid_gone(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void ask(struct reader *r, pid_t pid, uint64_t first)
{
	static struct reader_ask a;

	for (uint64_t i = 0; i < AT_ONCE; i++) {
		a.ticket = first + i;
		a.pid = pid;
		assert_int_equal(reader_ask(r, &a), 0);
	}
}

static uint64_t answers_take(struct reader *r)
{
	struct reader_answer a;
	uint64_t tickets = 0;

	for (int i = 0; i < AT_ONCE; i++) {
		assert_int_equal(reader_next(r, NULL, &a), 1);
		assert_int_not_equal(a.error, 0);
		assert_int_equal(a.fd, -1);
		tickets |= 1ull << a.ticket;
	}
	return tickets;
}

/* All that work have answered before anybody looks, so none is busy, and the rest is with
 * nobody. */
static void test_no_idle_wait(void **state)
{
	pid_t pid = pid_gone();
	struct reader_answer a;
	struct reader *r;

	(void)state;
	assert_int_equal(reader_new(&r, NULL, NULL), 0);
	ask(r, pid, 0);
	assert_int_equal(reader_next(r, NULL, &a), 0);
	ask(r, pid, AT_ONCE);
	reader_wait(r, 1000);
	assert_int_equal(answers_take(r), 0x0f);
	reader_wait(r, 1000);
	assert_int_equal(waits_for_nobody, 0);
	assert_int_equal(reader_next(r, NULL, &a), 0);
	reader_wait(r, 1000);
	assert_int_equal(answers_take(r), 0xf0);
	reader_wait(r, 1000); /* nothing is asked: it waits its time */
	assert_int_equal(waits_for_nobody, 1);
	reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_idle_wait)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
