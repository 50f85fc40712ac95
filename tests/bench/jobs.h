/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - a snapshot of jobs whose ranks have all that ranks of a training have. */
#ifndef TESTS_BENCH_JOBS_H
#define TESTS_BENCH_JOBS_H

#include "tests/unit/fixture.h"

static struct fixture fx;
static struct job_view jobs[FIXTURE_RANKS];

/* Clocks count nanoseconds, and a page tells them: round figures would be half as long. */
static inline void uneven(uint64_t *ns, size_t n)
{
	static uint32_t seed = 1;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		ns[i] += ns[i] ? seed >> 12 : 0;
	}
}

static inline void uneven_times(struct deviation_view *t)
{
	uneven(&t->p50_ns, 1);
	uneven(&t->p95_ns, 1);
	uneven(&t->p99_ns, 1);
	uneven(&t->max_ns, 1);
	uneven(&t->sum_ns, 1);
	uneven(&t->ideal_ns, 1);
	t->deviation_ns += 0.12345678 * MS;
	t->signed_ns = 0.12345678 * MS;
	t->jitter += 0.00012345678;
}

static inline void windows(struct window_view *w)
{
	static const uint64_t length_s[] = {3600, 86400, 604800};

	for (int i = 0; i < 3; i++) {
		w[i] = (struct window_view){.length_ns = length_s[i] * S, .to_ns = 90000 * S};
		w[i].ns[BUCKET_GOODPUT] = 80000 * S;
		uneven(w[i].ns, BUCKET_COUNT);
	}
}

static inline void rank(struct job_view *j, uint32_t number, uint32_t ranks)
{
	struct rank_view *r = fixture_trainer(&fx, 2000000 + fx.s.nranks, (int)number, (int)ranks);
	struct loop_view *l = r->loops;

	r->job_key = j->key;
	r->run = 1;
	snprintf(r->job, sizeof(r->job), "%s", j->name);
	r->observed_ns = 1000 * S;
	r->accelerators = 1;
	r->overhead.recent_ns = 10 * S;
	r->overhead.recent.all_ns = 5 * MS;
	r->overhead.recent.marker_ns = 2 * MS;
	windows(r->windows);
	l->change.known = l->device_known = true;
	l->host_ns = 5 * S;
	l->recent_times[0] = (struct times_view){
		.count = 1800, .p50_ns = 31 * MS, .p95_ns = 33 * MS, .p99_ns = 41 * MS};
	uneven(&l->recent_times[0].p50_ns, 1);
	uneven(&l->recent_times[0].p95_ns, 1);
	uneven(&l->recent_times[0].p99_ns, 1);
	uneven_times(&l->time);
	l->phases_known |= 1u << PHASE_COLLECTIVE | 1u << PHASE_SYNC;
	l->phase_ns[PHASE_COLLECTIVE] = l->phase_ns[PHASE_SYNC] = 3 * S;
	l->wait_ns = 3 * S;
	uneven(l->phase_ns, PHASE_COUNT);
	uneven(&l->host_ns, 1);
	uneven(&l->wait_ns, 1);
	uneven(r->ledger.ns, BUCKET_COUNT);
	uneven(&r->ledger.productive_gross_ns, 1);
	uneven(&r->checkpoint_save_ns, 1);
	uneven(&r->overhead.sum.all_ns, 1);
}

static inline void job(uint32_t number, uint32_t ranks)
{
	struct job_view *j = &jobs[fx.s.njobs++];

	j->key = number + 1;
	snprintf(j->name, sizeof(j->name), "llama-%02u", number);
	j->runs = 1;
	j->reported_here = true;
	j->run_ranks = ranks;
	j->world_size = (int)ranks;
	j->accelerators = ranks;
	j->last_step = 2000;
	j->program.steps = j->program.elapsed = (struct program_rate){
		.samples = 1234.5, .tokens = 123456.7, .flops = 1.23e15, .mfu = 0.43};
	for (uint32_t i = 0; i < ranks; i++)
		rank(j, i, ranks);
	j->ledger = fx.ranks[fx.s.nranks - 1].ledger;
	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		j->accelerator_ns[b] = (double)j->ledger.ns[b] * ranks;
	windows(j->windows);
}

static inline void jobs_make(uint32_t n, uint32_t ranks)
{
	fixture_init(&fx);
	fx.s.session_ns = 1000 * S;
	fx.s.jobs = jobs;
	fx.s.program.price = 2;
	snprintf(fx.s.program.currency, sizeof(fx.s.program.currency), "$");
	for (uint32_t i = 0; i < n; i++)
		job(i, ranks);
}

#endif
