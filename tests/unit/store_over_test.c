/* SPDX-License-Identifier: Apache-2.0 */
/* What a store has of a job whose ledger gets shorter: it is over since its disruption; and of one
 * whose watch ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_folder.h"
#include "userspace/store/store_private.h"

static int nothing(void *ctx, struct store *st)
{
	(void)ctx;
	(void)st;
	return 0;
}

/* A job was disrupted, was down over three minutes, and is over since then: minutes lose what they
 * got since. */
static void test_over(void **state)
{
	struct store_writer_options o = {.path = path};
	struct feed_minutes m = {0};
	static struct store_job job;
	static struct feed f;
	struct ledger_view disrupted;
	struct store *st;
	int64_t rank;

	(void)state;
	feed_init(&f, "llama", 1, 1200 * S);
	f.wait = true;
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	for (int i = 0; i < 70; i++)
		feed_go(&f, S);
	feed_end(&f, 0x0100);
	disrupted = f.job.ledger;
	for (int i = 0; i < 400; i++) {
		f.s.mono_ns += S / 2 + 7 * MS;
		f.s.real_ns += (int64_t)(S / 2 + 7 * MS);
		f.job.ledger.now_ns = f.s.mono_ns;
		f.job.ledger.ns[BUCKET_RECOVERY] += S / 2 + 7 * MS;
		feed_look(&f);
	}
	f.job.state = JOB_OVER;
	f.job.ledger = disrupted;
	feed_look(&f);
	assert_int_equal(store_writer_close(f.writer), 0);

	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(store_job(st, "llama", &job), 0);
	assert_string_equal(job.state, "over");
	assert_true(feed_same(&job.totals.sums, &disrupted));
	assert_int_equal(job.last_ns, FEED_REAL + (int64_t)disrupted.now_ns);
	assert_int_equal(store_number(st, &rank, "SELECT id FROM ranks WHERE kind = 1", ""), 0);
	assert_int_equal(store_minutes(st, rank, &everything, feed_minute, &m), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.negative + m.twice, 0);
	assert_true(feed_same(&m.sum.sums, &disrupted));
	store_close(st);
}

static int watched_now(void)
{
	struct store *st = opened(STORE_READ);
	static struct store_job job;
	int watched;

	assert_int_equal(store_job(st, "llama", &job), 0);
	assert_string_equal(job.state, "running");
	watched = store_watched(&job, job.last_ns + (int64_t)S);
	store_close(st);
	return watched;
}

/* Nobody waits for three minutes to hear it: of a watch that was told to end its jobs go unwatched
 * at once. */
static void test_watch_ends(void **state)
{
	struct store_writer_options o = {.path = path};
	static struct feed f;

	(void)state;
	feed_init(&f, "llama", 2, 1200 * S);
	f.wait = true;
	for (int life = 0; life < 3; life++) {
		assert_int_equal(store_writer_open(&f.writer, &o), 0);
		feed_open(&f, f.writer);
		for (int i = 0; i < 70; i++)
			feed_go(&f, S);
		assert_int_equal(store_writer_read(f.writer, nothing, NULL), 0);
		assert_int_equal(watched_now(), 1); /* also where the life before ended */
		if (life == 1)
			store_writer_hand_over(f.writer);
		assert_int_equal(store_writer_close(f.writer), 0);
		assert_int_equal(watched_now(), life == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_over, store_set_up, store_tear_down),
		cmocka_unit_test_setup_teardown(test_watch_ends, store_set_up, store_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
