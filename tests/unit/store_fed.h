/* SPDX-License-Identifier: Apache-2.0 */
/* store_fed.h - a store that a feed writes into, and that must have all of it. After cmocka.h. */
#ifndef TESTS_UNIT_STORE_FED_H
#define TESTS_UNIT_STORE_FED_H

#include "tests/unit/store_folder.h"

static inline struct store_writer *writer(void)
{
	struct store_writer_options o = {.path = path};
	struct store_writer *w;

	assert_int_equal(store_writer_open(&w, &o), 0);
	return w;
}

static inline void begin(struct feed *f, const char *name, uint32_t ranks, uint64_t session_ns)
{
	feed_init(f, name, ranks, session_ns);
	f->wait = true;
	feed_open(f, writer());
}

static inline void finish(struct feed *f)
{
	assert_int_equal(store_writer_close(f->writer), 0);
	f->writer = NULL;
}

static inline void minutes_of(struct store *st, int64_t rank, struct feed_minutes *ret)
{
	memset(ret, 0, sizeof(*ret));
	assert_int_equal(store_minutes(st, rank, &everything, feed_minute, ret), 0);
	assert_int_equal(ret->twice, 0);
	assert_int_equal(ret->negative, 0);
}

/* Ledger, steps and step times of each rank and of the job, as a whole and by minute. */
static inline void agrees(const struct feed *f)
{
	static struct feed_found found;
	static struct store_job job;
	struct store *st = opened(STORE_READ);
	struct feed_minutes m;

	assert_int_equal(feed_find(st, f->job.name, &job, &found), 0);
	assert_int_equal(found.ranks, f->s.nranks);
	for (uint32_t i = 0; i < found.ranks; i++) {
		assert_int_equal(found.rank[i].rank, i);
		assert_true(feed_same(&found.rank[i].totals.sums, &f->ranks[i].ledger));
		assert_int_equal(found.rank[i].totals.steps, f->step[i]);
		assert_int_equal(found.rank[i].totals.times.count, f->step[i]);
		assert_int_equal(found.rank[i].max_step, f->ranks[i].ledger.max_step);
		assert_true(job.max_step >= found.rank[i].max_step);
		minutes_of(st, found.rank[i].id, &m);
		assert_true(feed_same(&m.sum.sums, &f->ranks[i].ledger));
		assert_int_equal(m.sum.steps, f->step[i]);
		assert_int_equal(m.sum.times.count, f->step[i]);
	}
	assert_true(feed_same(&job.totals.sums, &f->job.ledger));
	assert_int_equal(job.totals.steps, f->step[0]);
	store_close(st);
}

#endif
