/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/clock.h"
#include "userspace/export/export_worker.h"

#define MS 1000000ull

struct backend {
	atomic_ullong works, idles, newest, lasts, earlies;
	atomic_ullong wanted; /* snapshots before it are too early, unless no other will come */
	atomic_bool held;     /* work does not return before it is let go, or cancelled */
	atomic_bool cancelled;
};

static bool work(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		 struct export_view *told)
{
	struct backend *b = ctx;

	(void)deadline_ns;
	if (!last && s->number < b->wanted) {
		b->earlies++;
		return false;
	}
	b->works++;
	b->newest = s->number;
	b->lasts += last;
	told->sent++;
	while (b->held && !b->cancelled)
		usleep(1000);
	return true;
}

static bool idle(void *ctx, uint64_t until_ns, struct export_view *told)
{
	struct backend *b = ctx;

	(void)until_ns;
	told->waiting = ++b->idles;
	return b->idles % 3;
}

static void cancel(void *ctx)
{
	((struct backend *)ctx)->cancelled = true;
}

static struct snapshot *snapshot_of(uint64_t number)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->number = number;
	s->references = 1;
	return s;
}

static void give(struct export_worker *w, uint64_t number)
{
	struct snapshot *s = snapshot_of(number);

	export_worker_snapshot(w, s);
	snapshot_unref(s);
}

static struct export_worker *open_worker(struct backend *b, uint64_t interval_ns, uint64_t flush_ns)
{
	struct export_worker_job job = {
		.name = "test", .ctx = b, .interval_ns = interval_ns, .flush_ns = flush_ns};
	struct export_worker *w;

	job.work = work;
	job.idle = idle;
	job.cancel = cancel;
	assert_int_equal(export_worker_open(&w, &job), 0);
	return w;
}

static void until(atomic_ullong *count, uint64_t least)
{
	for (int i = 0; i < 5000 && *count < least; i++)
		usleep(1000);
	assert_true(*count >= least);
}

static void test_first_at_once_then_each_interval(void **state)
{
	struct backend b = {0};
	struct export_worker *w = open_worker(&b, 20 * MS, 1000 * MS);
	struct export_view told;

	(void)state;
	give(w, 1);
	until(&b.works, 1);
	assert_int_equal(b.newest, 1);
	until(&b.idles, 3); /* false: it is let be until the next work */
	for (uint64_t n = 2; b.works < 4; n++) {
		give(w, n);
		usleep(1000);
	}
	export_worker_view(w, &told);
	assert_string_equal(told.name, "test");
	export_worker_close(w, &told);
	assert_int_equal(told.sent, b.works);
	assert_int_equal(told.waiting, b.idles);
}

static void test_newest_wins_and_nobody_waits(void **state)
{
	struct backend b = {.held = true};
	struct export_worker *w = open_worker(&b, 10 * MS, 1000 * MS);
	struct export_view told;

	(void)state;
	give(w, 1);
	until(&b.works, 1);
	for (uint64_t n = 2; n < 1000; n++)
		give(w, n);
	usleep(50000);
	b.held = false;
	until(&b.works, 2);
	assert_int_equal(b.newest, 999);
	export_worker_close(w, &told);
	assert_true(told.superseded >= 2); /* intervals */
	assert_int_equal(b.lasts, 0);
}

static void test_too_early(void **state)
{
	struct backend b = {.wanted = 5};
	struct export_worker *w = open_worker(&b, 3600000 * MS, 1000 * MS);

	(void)state;
	for (uint64_t n = 1; n < 8; n++) {
		give(w, n);
		if (n == 5)
			until(&b.works, 1);
		else
			usleep(5000);
	}
	assert_int_equal(b.works, 1);
	assert_int_equal(b.newest, 5);
	export_worker_close(w, NULL);
	assert_int_equal(b.newest, 7);
}

static void test_too_early_and_then_the_end(void **state)
{
	struct backend b = {.wanted = 5};
	struct export_worker *w = open_worker(&b, 3600000 * MS, 5000 * MS);

	(void)state;
	give(w, 1);
	until(&b.earlies, 1);
	give(w, 2);
	until(&b.earlies, 2);
	export_worker_close(w, NULL);
	assert_int_equal(b.newest, 2);
	assert_int_equal(b.lasts, 1);
	assert_int_equal(b.works, 1);
}

static void test_last_is_flushed(void **state)
{
	struct backend b = {0};
	struct export_worker *w = open_worker(&b, 3600000 * MS, 5000 * MS);

	(void)state;
	give(w, 1);
	until(&b.works, 1);
	give(w, 2);
	export_worker_close(w, NULL);
	assert_int_equal(b.newest, 2);
	assert_int_equal(b.lasts, 1);
	assert_false(b.cancelled);
}

static void test_what_hangs_is_cancelled(void **state)
{
	struct backend b = {.held = true};
	struct export_worker *w = open_worker(&b, 10 * MS, 50 * MS);
	uint64_t begun_ns = clock_mono_ns();

	(void)state;
	give(w, 1);
	until(&b.works, 1);
	give(w, 2);
	export_worker_close(w, NULL);
	assert_true(b.cancelled);
	assert_true(clock_mono_ns() - begun_ns < 30000 * MS);
	assert_int_equal(b.newest, 2); /* the last one had its turn, and returned at once */
}

/* Else this takes an hour. */
static void test_a_successor_does_not_wait(void **state)
{
	struct backend b = {.held = true};
	struct export_worker *w = open_worker(&b, 10 * MS, 3600000 * MS);

	(void)state;
	give(w, 1);
	until(&b.works, 1);
	give(w, 2);
	export_worker_end(w, true);
	export_worker_end(w, false); /* what was said first counts */
	export_worker_close(w, NULL);
	assert_true(b.cancelled);
	assert_int_equal(b.newest, 2);
}

static void test_several_end_at_once(void **state)
{
	struct backend a = {0}, b = {0};
	struct export_worker *one = open_worker(&a, 3600000 * MS, 3600000 * MS),
			     *two = open_worker(&b, 3600000 * MS, 3600000 * MS);

	(void)state;
	give(one, 1);
	give(two, 1);
	until(&a.works, 1);
	until(&b.works, 1);
	give(one, 2);
	give(two, 2);
	export_worker_end(one, false);
	export_worker_end(two, false);
	until(&a.lasts, 1);
	until(&b.lasts, 1); /* while neither is closed */
	export_worker_close(one, NULL);
	export_worker_close(two, NULL);
}

static void test_another_signal_hurries(void **state)
{
	struct backend b = {.held = true};
	struct export_worker *w = open_worker(&b, 10 * MS, 3600000 * MS);
	sigset_t term, before;
	int signo;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &before);
	give(w, 1);
	until(&b.works, 1);
	kill(getpid(), SIGTERM);
	export_worker_close(w, NULL); /* an hour, else */
	assert_true(b.cancelled);
	sigwait(&term, &signo);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void test_never_given_any(void **state)
{
	struct backend b = {0};
	struct export_worker *w = open_worker(&b, 10 * MS, 50 * MS);

	(void)state;
	export_worker_close(w, NULL);
	assert_int_equal(b.works, 0);
	export_worker_close(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_at_once_then_each_interval),
		cmocka_unit_test(test_newest_wins_and_nobody_waits),
		cmocka_unit_test(test_too_early),
		cmocka_unit_test(test_too_early_and_then_the_end),
		cmocka_unit_test(test_last_is_flushed),
		cmocka_unit_test(test_what_hangs_is_cancelled),
		cmocka_unit_test(test_a_successor_does_not_wait),
		cmocka_unit_test(test_several_end_at_once),
		cmocka_unit_test(test_another_signal_hurries),
		cmocka_unit_test(test_never_given_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
