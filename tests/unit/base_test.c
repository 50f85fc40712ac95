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
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/job_name.h"
#include "userspace/base/log.h"
#include "userspace/base/loop.h"
#include "userspace/base/poll_interval.h"
#include "userspace/base/table.h"

/* ---- clock */

static void test_duration(void **state)
{
	static const struct {
		uint64_t a, b;
		const char *first, *second;
	} pairs[] = {{3120000, 3340000, "3.12 ms", "3.34 ms"},
		     {3121000, 3124000, "3.121 ms", "3.124 ms"},
		     {63200000000, 63400000000, "63.2 s", "63.4 s"},
		     {17800, 17800, "17.8 \302\265s", "17.8 \302\265s"},
		     {5000000000, 5000000001, "5.000000000 s", "5.000000001 s"}};
	char other[32];
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{850, "850 ns"},
		{999, "999 ns"},
		{1000, "1.00 \302\265s"},
		{12345, "12.3 \302\265s"},
		{999499, "999 \302\265s"},
		{999500, "1.00 ms"},
		{9994999, "9.99 ms"},
		{9995000, "10.0 ms"},
		{31200000, "31.2 ms"},
		{1050000000, "1.05 s"},
		{59949999999, "59.9 s"},
		{59950000000, "1 m 00 s"},
		{125000000000, "2 m 05 s"},
		{3599499999999, "59 m 59 s"},
		{3599500000000, "1 h 00 m"},
		{11220000000000, "3 h 07 m"},
		{UINT64_MAX, "5124095 h 35 m"},
	};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(clock_duration(out, sizeof(out), cases[i].ns), cases[i].text);
	assert_string_equal(clock_duration(out, 4, 31200000), "31.");
	/* Beside each other: as many digits as it takes. */
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		clock_durations(out, other, sizeof(out), pairs[i].a, pairs[i].b);
		assert_string_equal(out, pairs[i].first);
		assert_string_equal(other, pairs[i].second);
	}
}

static void test_rfc3339(void **state)
{
	char out[CLOCK_TEXT_MAX];

	(void)state;
	assert_string_equal(clock_rfc3339(out, 0), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(clock_rfc3339(out, -1), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(clock_rfc3339(out, 1795262400000000001),
			    "2026-11-21T12:00:00.000000001Z");
	assert_string_equal(clock_rfc3339(out, INT64_MAX), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(clock_rfc3339(out, INT64_MIN), "1677-09-21T00:12:43.145224192Z");
	for (int64_t at = INT64_MIN / 1000000000; at < INT64_MAX / 1000000000; at += 86399 * 7) {
		char expected[CLOCK_TEXT_MAX];
		time_t s = (time_t)at;
		struct tm tm;

		gmtime_r(&s, &tm);
		assert_int_equal(
			strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000000000Z", &tm),
			30);
		assert_string_equal(clock_rfc3339(out, at * 1000000000), expected);
	}
}

static void test_boot_has_an_id(void **state)
{
	char id[CLOCK_BOOT_ID_MAX], again[CLOCK_BOOT_ID_MAX];
	unsigned a, b, c, d;
	unsigned long e;

	(void)state;
	memset(id, 'x', sizeof(id));
	clock_boot_id(id);
	clock_boot_id(again);
	assert_string_equal(id, again);
	assert_int_equal(strlen(id), 36);
	assert_int_equal(sscanf(id, "%8x-%4x-%4x-%4x-%12lx", &a, &b, &c, &d, &e), 5);
}

/* Vectors of the FNV authors' test suite. */
static void test_hash_is_fnv_1a(void **state)
{
	(void)state;
	assert_int_equal(hash_bytes(HASH_START, "", 0), 0xcbf29ce484222325ull);
	assert_int_equal(hash_bytes(HASH_START, "a", 1), 0xaf63dc4c8601ec8cull);
	assert_int_equal(hash_bytes(HASH_START, "foobar", 6), 0x85944171f73967e8ull);
	assert_int_equal(hash_word(HASH_START, 'a'), 0xaf63dc4c8601ec8cull);
}

static void test_clocks_agree(void **state)
{
	uint64_t before = clock_mono_ns(), suspended = clock_suspended_ns();

	(void)state;
	assert_true(clock_mono_ns() >= before);
	assert_true(clock_boot_ns() + 1000000000 >= before + suspended);
	assert_true(clock_real_ns() > 0);
}

/* ---- log */

static void test_escape(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"a\nb\t\x7f", "a?b??"},
		{"\x1b[31mred", "?[31mred"},
		{"gr\303\274n \342\202\254 \360\237\230\200",
		 "gr\303\274n \342\202\254 \360\237\230\200"},
		{"\302\233 C1", "?? C1"},
		{"\300\257 \340\200\257 \355\240\200 \364\220\200\200", "?? ??? ??? ????"},
		{"\342\200\256 marks", "??? marks"},
		{"cut \342\202", "cut ??"},
		{"\377\376", "??"},
		{"~ and \302\240 between \177 plain \342\202\254",
		 "~ and \302\240 between ? plain \342\202\254"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(log_escape(out, sizeof(out), cases[i].in, strlen(cases[i].in)),
				    cases[i].out);
	assert_string_equal(log_escape(out, sizeof(out), "ab\0cd", 5), "ab");
	assert_string_equal(log_escape(out, sizeof(out), "abcd", 2), "ab");
	assert_string_equal(log_escape(out, 3, "abcd", 4), "ab");
	assert_string_equal(log_escape(out, 5, "abc\342\202\254", 6),
			    "abc"); /* never half a character */
	assert_string_equal(log_escape(out, 6, "\342\202\254abcd", 7), "\342\202\254ab");
	assert_string_equal(log_escape(out, 5, "a\nbcde", 6), "a?bc");
	assert_string_equal(log_escape(out, 1, "abc", 3), "");
}

struct lines {
	int count;
	enum log_level level;
	char last[4096];
};

static void keep_line(void *ctx, enum log_level level, const char *line)
{
	struct lines *l = ctx;

	l->count++;
	l->level = level;
	snprintf(l->last, sizeof(l->last), "%s", line);
}

/* Whoever reads a log and stops costs lines, not the main loop; they are counted where they are
 * missing. */
static void test_log_pipe(void **state)
{
	static char line[1001], text[1 << 20];
	struct log_pipe p = {0};
	size_t len = 0, sent = 0;
	int pair[2];
	ssize_t n;

	(void)state;
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	assert_int_equal(pipe(pair), 0);
	p.fd = pair[1];
	for (; !p.lost; sent++)
		log_pipe_write(&p, line, sizeof(line) - 1);
	log_pipe_write(&p, line, sizeof(line) - 1); /* at once */
	assert_int_equal(p.lost, 2);
	assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	while ((n = read(pair[0], text, sizeof(text))) > 0)
		len += (size_t)n;
	assert_int_equal(len, (sent - 1) * 1000); /* whole lines */
	log_pipe_write(&p, line, sizeof(line) - 1);
	assert_int_equal(p.lost, 0);
	n = read(pair[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(
		strstr(text, "2 lines were dropped here, because the reader did not read\nxxx"));
	close(pair[0]);
	close(pair[1]);
}

static void test_log_formats(void **state)
{
	struct lines l = {0};
	char big[5000];

	(void)state;
	log_sink(keep_line, &l);
	log_setup(LOG_WARN, LOG_TEXT);
	log_warn("cannot read %s: %%s", "x\ny");
	assert_string_equal(l.last, "gp-bpf: warning: cannot read x?y: %s");
	assert_int_equal(l.level, LOG_WARN);
	log_error("no room");
	assert_string_equal(l.last, "gp-bpf: no room");
	log_info("not shown");
	assert_int_equal(l.count, 2);

	log_setup(LOG_DEBUG, LOG_LOGFMT);
	log_debug("a \"b\" \\");
	assert_non_null(strstr(l.last, " level=debug msg=\"a \\\"b\\\" \\\\\""));
	assert_int_equal(strncmp(l.last, "time=20", 7), 0);
	log_setup(LOG_DEBUG, LOG_JSON);
	log_error("a \"b\"");
	assert_non_null(strstr(l.last, "\"level\":\"error\",\"msg\":\"a \\\"b\\\"\"}"));

	memset(big, '"', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_error("%s", big);
	assert_string_equal(l.last + strlen(l.last) - 4, "\\\"\"}");
	log_sink(NULL, NULL);
	log_setup(LOG_INFO, LOG_TEXT);
}

static void test_log_to_stderr(void **state)
{
	int pipe_fd[2], saved = dup(STDERR_FILENO);
	char out[128] = "";

	(void)state;
	assert_int_equal(pipe(pipe_fd), 0);
	dup2(pipe_fd[1], STDERR_FILENO);
	errno = EXDEV;
	log_warn("one line");
	assert_int_equal(errno, EXDEV);
	dup2(saved, STDERR_FILENO);
	assert_true(read(pipe_fd[0], out, sizeof(out) - 1) > 0);
	assert_string_equal(out, "gp-bpf: warning: one line\n"); /* a pipe is never coloured */
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(saved);
}

/* ---- table */

/* 253 bytes are whole; two longer names that begin alike stay two. */
static void test_job_name(void **state)
{
	char name[400], one[JOB_NAME_MAX], other[JOB_NAME_MAX];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[253] = '\0';
	assert_string_equal(job_name_keep(one, name), name);
	name[253] = 'a';
	name[398] = '1';
	name[399] = '\0';
	job_name_keep(one, name);
	name[398] = '2';
	job_name_keep(other, name);
	assert_int_equal(strlen(one), 253);
	assert_int_equal(one[236], '~');
	assert_memory_equal(one, other, 236);
	assert_string_not_equal(one, other);
}

static void test_table_keeps_order(void **state)
{
	struct table *t = table_new();
	uint64_t key, expect = 0;
	size_t pos;
	int value;

	(void)state;
	for (uint64_t k = 0; k < 1000; k++)
		assert_int_equal(table_put(t, k * 0x10001, &value), 0);
	for (uint64_t k = 0; k < 1000; k += 2)
		assert_ptr_equal(table_take(t, k * 0x10001), &value);
	assert_int_equal(table_count(t), 500);
	for (pos = 0; table_next(t, &pos, &key);) {
		expect++;
		assert_int_equal(key, (2 * expect - 1) * 0x10001);
		if (expect % 3 == 0)
			assert_non_null(table_take(t, key));
	}
	assert_int_equal(expect, 500);
	assert_int_equal(table_count(t), 500 - 166);
	assert_null(table_take(t, 0));
	assert_int_equal(table_put(t, 1, NULL), -EINVAL);
	table_free(t, NULL);
	table_free(NULL, NULL);
}

/* Against the simplest thing that is surely right. */
static void test_table_random(void **state)
{
	struct table *t = table_new();
	static void *model[512];
	static char values[2];
	size_t count = 0, pos, seen;
	uint32_t x = 12345;
	uint64_t key;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		x = x * 1664525 + 1013904223;
		key = (x >> 8) % 512;
		if (x >> 31) {
			assert_int_equal(table_put(t, key, &values[x >> 30 & 1]), 0);
			count += !model[key];
			model[key] = &values[x >> 30 & 1];
		} else {
			assert_ptr_equal(table_take(t, key), model[key]);
			count -= model[key] != NULL;
			model[key] = NULL;
		}
		assert_int_equal(table_count(t), count);
	}
	for (key = 0; key < 512; key++)
		assert_ptr_equal(table_get(t, key), model[key]);
	for (pos = seen = 0; table_next(t, &pos, &key); seen++)
		assert_non_null(model[key]);
	assert_int_equal(seen, count);
	table_free(t, NULL);
}

static void test_table_frees_values(void **state)
{
	struct table *t = table_new();

	(void)state;
	assert_null(table_get(t, 3));
	for (uint64_t k = 0; k < 40; k++)
		assert_int_equal(table_put(t, k, malloc(8)), 0);
	free(table_take(t, 7));
	table_free(t, free); /* the leak checker is the assertion */
}

/* ---- pace */

static void test_poll_interval(void **state)
{
	static const struct {
		uint64_t now_ns;
		bool busy, changes;
		uint64_t period_ns;
	} looks[] = {
		{1010, false, false, 10}, {1199, false, false, 10}, {1200, false, true, 40},
		{9000, false, false, 40}, {9040, true, true, 10},   {9230, true, false, 10},
		{9240, false, false, 10}, {9430, false, true, 40},
	};
	struct poll_interval p = {
		.often_ns = 10, .seldom_ns = 40, .calm_ns = 200, .busy_ns = 1000, .period_ns = 10};

	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		assert_int_equal(poll_interval_changes(&p, looks[i].now_ns, looks[i].busy),
				 looks[i].changes);
		assert_int_equal(p.period_ns, looks[i].period_ns);
	}
}

/* ---- loop */

struct probe {
	struct loop *loop;
	int pipe_fd[2], calls;
	uint64_t value;
	struct probe *other;
};

static void on_readable_remove_other(void *ctx, uint64_t value)
{
	struct probe *p = ctx;
	char c;

	p->calls++;
	p->value = value;
	assert_int_equal(read(p->pipe_fd[0], &c, 1), 1);
	/* The other's event is in the same batch: it must not fire any more. */
	loop_remove_fd(p->loop, p->other->pipe_fd[0]);
	assert_int_equal(
		loop_add_fd(p->loop, p->other->pipe_fd[1], EPOLLOUT, on_readable_remove_other, p),
		0);
	loop_remove_fd(p->loop, p->other->pipe_fd[1]);
}

static void on_stop(void *ctx, uint64_t value)
{
	struct probe *p = ctx;

	p->calls++;
	p->value = value;
	if (p->calls == 3)
		loop_stop(p->loop, 42);
}

static void test_loop_removes_during_dispatch(void **state)
{
	struct probe a = {0}, b = {0}, later = {0};
	struct loop *l;

	(void)state;
	assert_int_equal(loop_new(&l), 0);
	a.loop = b.loop = later.loop = l;
	a.other = &b;
	b.other = &a;
	assert_int_equal(pipe(a.pipe_fd), 0);
	assert_int_equal(pipe(b.pipe_fd), 0);
	assert_int_equal(loop_add_fd(l, a.pipe_fd[0], EPOLLIN, on_readable_remove_other, &a), 0);
	assert_int_equal(loop_add_fd(l, b.pipe_fd[0], EPOLLIN, on_readable_remove_other, &b), 0);
	assert_int_equal(loop_add_fd(l, b.pipe_fd[0], EPOLLIN, on_readable_remove_other, &b),
			 -EEXIST);
	assert_int_equal(write(a.pipe_fd[1], "x", 1), 1);
	assert_int_equal(write(b.pipe_fd[1], "x", 1), 1);
	assert_int_equal(loop_add_timer(l, 1000000, on_stop, &later), 0);
	assert_int_equal(loop_run(l), 42);
	assert_int_equal(a.calls + b.calls, 1);
	assert_int_equal(a.value + b.value, EPOLLIN);
	loop_free(l);
	for (int i = 0; i < 2; i++) {
		close(a.pipe_fd[i]);
		close(b.pipe_fd[i]);
	}
}

static void test_loop_timer(void **state)
{
	struct probe p = {0};

	(void)state;
	assert_int_equal(loop_new(&p.loop), 0);
	assert_int_equal(loop_add_timer(p.loop, 0, on_stop, &p), -EINVAL);
	assert_int_equal(loop_add_timer(p.loop, 1000000, on_stop, &p), 0);
	assert_int_equal(loop_run(p.loop), 42);
	assert_int_equal(p.calls, 3);
	assert_true(p.value >= 1);
	loop_free(p.loop);
}

static void test_loop_sets_a_timer(void **state)
{
	struct probe p = {0};

	(void)state;
	assert_int_equal(loop_new(&p.loop), 0);
	assert_int_equal(loop_set_timer(p.loop, 1000000, on_stop, &p), -ENOENT);
	assert_int_equal(loop_add_timer(p.loop, UINT64_C(1000000000) << 20, on_stop, &p), 0);
	assert_int_equal(loop_set_timer(p.loop, 1000000, on_stop, &p.calls), -ENOENT);
	assert_int_equal(loop_set_timer(p.loop, 0, on_stop, &p), -EINVAL);
	assert_int_equal(loop_set_timer(p.loop, 1000000, on_stop, &p), 0);
	assert_int_equal(loop_run(p.loop), 42);
	assert_int_equal(p.calls, 3);
	loop_free(p.loop);
}

static void test_loop_signals(void **state)
{
	struct probe usr1 = {0}, usr2 = {.calls = 2};
	sigset_t none;

	(void)state;
	assert_int_equal(loop_new(&usr1.loop), 0);
	usr2.loop = usr1.loop;
	assert_int_equal(loop_add_signal(usr1.loop, 0, on_stop, &usr1), -EINVAL);
	assert_int_equal(loop_add_signal(usr1.loop, SIGUSR1, on_stop, &usr1), 0);
	assert_int_equal(loop_add_signal(usr1.loop, SIGUSR2, on_stop, &usr2), 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	assert_int_equal(loop_run(usr1.loop), 42);
	assert_int_equal((uint32_t)usr1.value, SIGUSR1);
	assert_int_equal((int32_t)(usr1.value >> 32), SI_TKILL); /* what raise(3) sends */
	assert_int_equal((uint32_t)usr2.value, SIGUSR2);
	loop_free(usr1.loop);
	loop_free(NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void test_loop_refuses_bad_fd(void **state)
{
	struct loop *l;

	(void)state;
	assert_int_equal(loop_new(&l), 0);
	assert_int_equal(loop_add_fd(l, -1, EPOLLIN, on_stop, NULL), -EBADF);
	loop_remove_fd(l, 99);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_rfc3339),
		cmocka_unit_test(test_clocks_agree),
		cmocka_unit_test(test_boot_has_an_id),
		cmocka_unit_test(test_hash_is_fnv_1a),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_log_formats),
		cmocka_unit_test(test_log_pipe),
		cmocka_unit_test(test_log_to_stderr),
		cmocka_unit_test(test_job_name),
		cmocka_unit_test(test_table_keeps_order),
		cmocka_unit_test(test_table_random),
		cmocka_unit_test(test_table_frees_values),
		cmocka_unit_test(test_poll_interval),
		cmocka_unit_test(test_loop_removes_during_dispatch),
		cmocka_unit_test(test_loop_timer),
		cmocka_unit_test(test_loop_sets_a_timer),
		cmocka_unit_test(test_loop_signals),
		cmocka_unit_test(test_loop_refuses_bad_fd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
