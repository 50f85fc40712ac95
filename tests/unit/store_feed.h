/* SPDX-License-Identifier: Apache-2.0 */
/* store_feed.h - a job made by hand that goes on second by second: what a model would tell of it,
 * and the truth to hold against what a store has of it. The same feed tells the same thing again,
 * fact by fact. */
#ifndef TESTS_UNIT_STORE_FEED_H
#define TESTS_UNIT_STORE_FEED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/store/query.h"
#include "userspace/store/writer.h"

#define MS	   1000000ull
#define S	   1000000000ull
#define FEED_RANKS 64
#define FEED_REAL  1795262400000000000ll /* UTC when the monotonic clock was 0 */

#define MINUTE (60 * S)

struct feed {
	struct snapshot s;
	struct rank_view ranks[FEED_RANKS];
	struct loop_view loops[FEED_RANKS];
	struct job_view job;
	uint64_t step[FEED_RANKS]; /* of steps that were told */
	uint64_t facts;
	uint64_t per_second; /* steps of each rank */
	uint64_t jitter_ns;  /* what a step may take longer */
	uint64_t seed;
	struct store_writer *writer;
	bool wait;
};

static inline void feed_init(struct feed *f, const char *name, uint32_t ranks, uint64_t session_ns)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->s.session.boot_id, sizeof(f->s.session.boot_id),
		 "b00ab1e5-0000-0000-0000-000000000001");
	snprintf(f->s.session.version, sizeof(f->s.session.version), "0.1.0");
	snprintf(f->s.session.command, sizeof(f->s.session.command), "gp-bpf --pid 100");
	f->s.session_ns = session_ns;
	f->s.mono_ns = session_ns;
	f->s.real_ns = FEED_REAL + (int64_t)session_ns;
	f->s.references = 1 << 20;
	f->s.ranks = f->ranks;
	f->s.nranks = ranks;
	f->s.jobs = &f->job;
	f->s.njobs = 1;
	f->per_second = 10;
	f->job.key = 7;
	f->job.state = JOB_RUNNING;
	f->job.world_size = (int)ranks;
	f->job.ledger.start_ns = f->job.ledger.now_ns = session_ns;
	snprintf(f->job.name, sizeof(f->job.name), "%s", name);
	for (uint32_t i = 0; i < ranks; i++) {
		struct rank_view *r = &f->ranks[i];

		r->pid = 100 + i;
		r->rank = (int)i;
		r->world_size = (int)ranks;
		r->trainer = r->alive = true;
		r->job_key = 7;
		r->start_mono_ns = r->ledger.start_ns = r->ledger.now_ns = session_ns;
		r->loops = &f->loops[i];
		r->nloops = 1;
		snprintf(r->comm, sizeof(r->comm), "python3");
		snprintf(r->job, sizeof(r->job), "%s", name);
		snprintf(r->command, sizeof(r->command), "python3 train.py");
	}
}

static inline void feed_fact(struct feed *f, struct fact *fact, uint32_t rank, uint64_t mono_ns)
{
	fact->number = ++f->facts;
	fact->mono_ns = mono_ns;
	fact->real_ns = FEED_REAL + (int64_t)mono_ns;
	fact->pid = f->ranks[rank].pid;
	fact->start_ns = f->ranks[rank].start_mono_ns;
	fact->rank = (int)rank;
	fact->job = f->job.name;
	if (f->writer)
		store_writer_fact(f->writer, fact);
}

static inline void feed_open(struct feed *f, struct store_writer *w)
{
	struct fact start = {.type = FACT_START, .start = &f->s.session};

	f->writer = w;
	feed_fact(f, &start, 0, f->s.session_ns);
}

static inline void feed_look(struct feed *f)
{
	f->s.number++;
	if (f->writer)
		store_writer_snapshot(f->writer, &f->s, f->wait);
}

/* Time goes on by ns: two thirds of it goodput, one third data loading; what ran before becomes
 * goodput. */
static inline void feed_ledger(struct ledger_view *l, uint64_t ns)
{
	l->now_ns += ns;
	l->ns[BUCKET_GOODPUT] += ns / 3 + l->ns[BUCKET_OTHER];
	l->ns[BUCKET_DATA_LOADING] += ns / 3;
	l->ns[BUCKET_OTHER] = ns - ns / 3 * 2;
}

/* One more second, or however long; a snapshot at its end. */
static inline void feed_go(struct feed *f, uint64_t ns)
{
	uint64_t from_ns = f->s.mono_ns;

	f->s.mono_ns += ns;
	f->s.real_ns += (int64_t)ns;
	for (uint32_t i = 0; i < f->s.nranks; i++) {
		struct rank_view *r = &f->ranks[i];

		if (!r->alive)
			continue;
		for (uint64_t k = 0; k < f->per_second; k++) {
			struct fact_step step = {
				.step = {.number = ++f->step[i],
					 .start_ns = from_ns + ns * k / f->per_second,
					 .end_ns = from_ns + ns * (k + 1) / f->per_second}};
			struct fact told = {.type = FACT_STEP, .step = &step};

			f->seed = f->seed * 6364136223846793005ull + 1442695040888963407ull;
			if (f->jitter_ns)
				step.step.end_ns += (f->seed >> 33) % f->jitter_ns;
			feed_fact(f, &told, i, step.step.end_ns);
		}
		feed_ledger(&r->ledger, ns);
		r->ledger.steps = r->ledger.max_step = f->step[i];
	}
	feed_ledger(&f->job.ledger, ns);
	feed_look(f);
}

static inline void feed_end(struct feed *f, int status)
{
	for (uint32_t i = 0; i < f->s.nranks; i++) {
		struct step_state ended = {.state = STATE_ENDED};
		struct fact told = {.type = FACT_RANK, .state = &ended};

		f->ranks[i].alive = false;
		f->ranks[i].status = status;
		f->ranks[i].ledger.ended = true;
		feed_fact(f, &told, i, f->s.mono_ns);
	}
	f->job.state = status ? JOB_DOWN : JOB_ENDED;
	f->s.ended = true;
	feed_look(f);
	f->s.ended = false;
}

/* ---- what a store has ------------------------------------------------------------------------ */

struct feed_found {
	struct store *store;
	struct store_run run[16];
	uint32_t runs;
	struct store_rank rank[FEED_RANKS];
	uint32_t ranks;
};

static inline int feed_take_rank(void *ctx, const struct store_rank *r)
{
	struct feed_found *found = ctx;

	found->rank[found->ranks++ % FEED_RANKS] = *r;
	return 0;
}

static inline int feed_take_run(void *ctx, const struct store_run *r)
{
	struct feed_found *found = ctx;

	found->run[found->runs++ % 16] = *r;
	return store_ranks(found->store, r->id, feed_take_rank, found);
}

/* All runs and ranks of the job. 0 or -errno. */
static inline int feed_find(struct store *st, const char *job, struct store_job *ret_job,
			    struct feed_found *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->store = st;
	err = store_job(st, job, ret_job);
	return err ? err : store_runs(st, ret_job->id, feed_take_run, ret);
}

static inline bool feed_same(const struct sums *s, const struct ledger_view *l)
{
	struct sums truth;

	sums_of_ledger(&truth, l);
	return !memcmp(&truth, s, sizeof(truth));
}

struct feed_minutes {
	struct store_totals sum;
	uint32_t count, twice, negative;
	int64_t last_ns;
};

static inline int feed_minute(void *ctx, int64_t from_ns, int64_t to_ns,
			      const struct store_totals *t)
{
	struct feed_minutes *m = ctx;

	(void)to_ns;
	m->twice += m->count && from_ns <= m->last_ns;
	m->negative += sums_total(&t->sums) < 0;
	m->last_ns = from_ns;
	m->count++;
	sums_add(&m->sum.sums, &t->sums);
	m->sum.steps += t->steps;
	sketch_merge(&m->sum.times, &t->times);
	return 0;
}

static const struct store_span everything;

static inline char *feed_folder(char out[64])
{
	snprintf(out, 64, "/tmp/gp-store-XXXXXX");
	return mkdtemp(out);
}

static inline void feed_remove(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command)) /* NOLINT(cert-env33-c) */
		fprintf(stderr, "%s stays\n", dir);
}

/* A job of so many seconds, in the store at path. Aborts where it cannot: the bench has no
 * cmocka. */
static inline void feed_fill(struct feed *f, const char *path, const char *name, uint64_t seconds)
{
	struct store_writer_options o = {.path = path};

	feed_init(f, name, 1, 1200 * S); /* a minute begins there, on both clocks */
	f->wait = true;
	if (store_writer_open(&f->writer, &o))
		abort();
	feed_open(f, f->writer);
	for (uint64_t i = 0; i < seconds; i++)
		feed_go(f, S);
	if (store_writer_close(f->writer))
		abort();
	f->writer = NULL;
}

/* Of feed_fill()'s job. */
static inline struct store_span feed_minutes(uint64_t from, uint64_t to)
{
	int64_t zero = FEED_REAL + 1200 * (int64_t)S;

	return (struct store_span){zero + (int64_t)(from * MINUTE), zero + (int64_t)(to * MINUTE)};
}

#endif
