/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/log.h"
#include "userspace/base/notify.h"

static char dir[] = "/tmp/gp-notify-XXXXXX", name[64], got[2048], told[256];

static void on_log(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	strncpy(told, line, sizeof(told) - 1);
}

static int setup(void **state)
{
	(void)state;
	*told = '\0';
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	log_sink(on_log, NULL);
	return 0;
}

static int listener(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	size_t len = strlen(path);

	memcpy(at.sun_path, path, len);
	if (*path == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (*path == '/'))),
		0);
	return fd;
}

static const char *heard(int fd)
{
	ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);

	got[n > 0 ? n : 0] = '\0';
	return got;
}

static void nobody_wants_to_know(void **state)
{
	struct notify *n;

	(void)state;
	assert_int_equal(notify_open(&n), 0);
	assert_null(n);
	notify_send(n, "READY=1");
	assert_int_equal(notify_watchdog_ns(n), 0);
	notify_close(n);
}

static void spoken_to(const char *socket_name)
{
	int fd = listener(socket_name);
	struct notify *n;

	setenv("NOTIFY_SOCKET", socket_name, 1);
	assert_int_equal(notify_open(&n), 0);
	assert_non_null(n);
	assert_null(getenv("NOTIFY_SOCKET")); /* children are not us */
	notify_send(n, "READY=1\nSTATUS=%d jobs", 3);
	assert_string_equal(heard(fd), "READY=1\nSTATUS=3 jobs");
	notify_send(n, "STATUS=%*s", 4000, "x"); /* cut, not lost */
	assert_int_equal(strlen(heard(fd)), 1023);
	close(fd);
	notify_send(n, "STATUS=gone");
	assert_true(strstr(told, "cannot report the state"));
	*told = '\0';
	notify_send(n, "STATUS=gone");
	assert_string_equal(told, ""); /* once */
	notify_close(n);
}

static void a_socket_with_a_path(void **state)
{
	(void)state;
	spoken_to(name);
	unlink(name);
}

static void an_abstract_socket(void **state)
{
	char abstract[64];

	(void)state;
	snprintf(abstract, sizeof(abstract), "@gp-notify-%d", getpid());
	spoken_to(abstract);
}

static void names_that_are_none(void **state)
{
	char longest[200];
	const char *const wrong[] = {"vsock:2:1234", "relative", "@", "/", longest};
	struct notify *n;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv("NOTIFY_SOCKET", wrong[i], 1);
		assert_int_equal(notify_open(&n), -EINVAL);
		assert_true(strstr(told, "NOTIFY_SOCKET="));
	}
}

static void a_full_socket_holds_nobody_up(void **state)
{
	int fd = listener(name);
	struct notify *n;

	(void)state;
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(notify_open(&n), 0);
	for (int i = 0; i < 10000; i++)
		notify_send(n, "WATCHDOG=1");
	assert_string_equal(told, "");
	notify_close(n);
	close(fd);
	unlink(name);
}

static uint64_t watchdog(const char *usec, const char *pid)
{
	struct notify *n;
	uint64_t ns;

	setenv("NOTIFY_SOCKET", name, 1);
	setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
	else
		unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_open(&n), 0);
	ns = notify_watchdog_ns(n);
	notify_close(n);
	return ns;
}

static void the_watchdog_is_ours_and_gets_two_words_in_its_time(void **state)
{
	char own[16];

	(void)state;
	snprintf(own, sizeof(own), "%d", getpid());
	assert_int_equal(watchdog("30000000", NULL), 15000000000ull);
	assert_int_equal(watchdog("30000000", own), 15000000000ull);
	assert_int_equal(watchdog("30000000", "1"), 0);
	assert_int_equal(watchdog("0", own), 0);
	assert_int_equal(watchdog("x", own), 0);
	assert_int_equal(watchdog("99999999999999999999", own), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nobody_wants_to_know, setup),
		cmocka_unit_test_setup(a_socket_with_a_path, setup),
		cmocka_unit_test_setup(an_abstract_socket, setup),
		cmocka_unit_test_setup(names_that_are_none, setup),
		cmocka_unit_test_setup(a_full_socket_holds_nobody_up, setup),
		cmocka_unit_test_setup(the_watchdog_is_ours_and_gets_two_words_in_its_time, setup),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(name, sizeof(name), "%s/socket", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
