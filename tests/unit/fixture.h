/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - snapshots and facts made by hand, for tests of what shows them. */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "userspace/model/snapshot.h"

#define MS 1000000ull
#define S  1000000000ull

#define FIXTURE_RANKS  600
#define FIXTURE_ATTACH 16

struct fixture {
	struct snapshot s;
	struct rank_view ranks[FIXTURE_RANKS];
	struct loop_view loops[FIXTURE_RANKS];
	struct attach_view attach[FIXTURE_ATTACH];
};

/* An empty snapshot: 2026-11-21 12:00:00 UTC is 1000 s on the monotonic clock. */
static inline void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->s.number = 1;
	f->s.mono_ns = 1100 * S;
	f->s.real_ns = 1795262500ll * (int64_t)S;
	f->s.references = 1 << 20; /* owned by the test: never freed by a reference that goes */
	snprintf(f->s.session.version, sizeof(f->s.session.version), "0.1.0");
	snprintf(f->s.session.kernel, sizeof(f->s.session.kernel), "6.18.0 x86_64");
	snprintf(f->s.session.command, sizeof(f->s.session.command),
		 "gp-bpf run -- python3 train.py");
	f->s.ranks = f->ranks;
	f->s.attach = f->attach;
}

static inline struct rank_view *fixture_process(struct fixture *f, uint32_t pid)
{
	struct rank_view *r = &f->ranks[f->s.nranks++];

	r->pid = pid;
	r->rank = r->world_size = -1;
	r->alive = true;
	r->start_mono_ns = 1000 * S;
	r->ledger.start_ns = 1000 * S;
	r->ledger.now_ns = 1100 * S;
	r->ledger.ns[BUCKET_OTHER] = 100 * S;
	snprintf(r->comm, sizeof(r->comm), "python3");
	snprintf(r->command, sizeof(r->command), "python3 train.py --lr 1e-3");
	return r;
}

static inline void fixture_event(struct rank_view *r, uint64_t mono_ns, const char *text)
{
	struct event_view *e = &r->events[r->nevents++];

	e->mono_ns = mono_ns;
	snprintf(e->text, sizeof(e->text), "%s", text);
}

/* Step times around 31 ms with one of 300 ms every fifty. */
static inline void fixture_times(struct loop_view *l)
{
	uint32_t seed = 7;

	l->recent = SNAPSHOT_RECENT;
	for (uint32_t i = 0; i < l->recent; i++) {
		seed = seed * 1103515245u + 12345u;
		l->recent_ns[i] = i % 50 == 20 ? 300 * MS : 30 * MS + (seed >> 8) % (2 * MS);
	}
	l->time = (struct deviation_view){
		.count = 2000,
		.sum_ns = 72400 * MS,
		.bucket = {[6] = 1960, [9] = 39, [11] = 1},
		.mean_ns = 36.2e6,
		.min_ns = 29900000,
		.max_ns = 1250 * MS,
		.last_ns = l->recent_ns[l->recent - 1],
		.p50_ns = 31200000,
		.p95_ns = 33100000,
		.p99_ns = 301 * MS,
		.ideal_ns = 31 * MS,
		.mad_ns = 400000,
		.deviation_ns = 5.6e6,
		.jitter = 0.019,
	};
}

/* A locked trainer of 2000 steps in 100 s; its buckets add up. */
static inline struct rank_view *fixture_trainer(struct fixture *f, uint32_t pid, int rank,
						int world_size)
{
	struct loop_view *l = &f->loops[f->s.nranks];
	struct rank_view *r = fixture_process(f, pid);
	struct ledger_view *g = &r->ledger;

	r->trainer = true;
	r->rank = rank;
	r->world_size = world_size;
	snprintf(r->job, sizeof(r->job), "mnist");
	g->ns[BUCKET_GOODPUT] = 72400 * MS;
	g->ns[BUCKET_PROGRAM_STARTUP] = 12100 * MS;
	g->ns[BUCKET_DATA_LOADING] = 8300 * MS;
	g->ns[BUCKET_EVAL] = 4100 * MS;
	g->ns[BUCKET_CHECKPOINT_SAVE] = 900 * MS;
	g->ns[BUCKET_OTHER] = 2200 * MS;
	g->unsettled_ns = 31 * MS;
	g->productive_gross_ns = 72400 * MS;
	g->steps = g->max_step = 2000;
	r->checkpoints = 4;
	r->checkpoint_save_ns = 900 * MS;
	r->hits = 12340;
	r->overhead.sum.all_ns = 6100000;
	r->loops = l;
	r->nloops = 1;
	l->state = (struct step_state){.state = STATE_LOCKED,
				       .tier = TIER_A,
				       .boundary = BOUNDARY_UPDATE_EXIT,
				       .loops = 1,
				       .confidence = 0.99,
				       .steps = 2000,
				       .updates = 2000,
				       .period = 1};
	snprintf(l->state.marker, sizeof(l->state.marker), "Optimizer.step#AdamW");
	snprintf(l->state.ratios, sizeof(l->state.ratios), "backward:4 fetch:4 zero_grad:1");
	l->last_number = 2000;
	l->last_end_ns = 1099 * S;
	l->phases_known = 1u << PHASE_DATA | 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD |
			  1u << PHASE_UPDATE;
	l->phase_ns[PHASE_DATA] = 8300 * MS;
	l->phase_ns[PHASE_FORWARD] = 24 * S;
	l->phase_ns[PHASE_BACKWARD] = 31 * S;
	l->phase_ns[PHASE_UPDATE] = 9 * S;
	fixture_times(l);
	fixture_event(r, 1012 * S, "locked after 3 steps: Optimizer.step#AdamW");
	fixture_event(r, 1041 * S, "checkpoint saved in 210 ms: ckpt-500.pt (step 500)");
	f->s.events = 48211;
	return r;
}

/* It has hung for 42 s of the last 50, or still does. */
static inline void fixture_hang(struct rank_view *r, enum gp_why why, bool over,
				const char *evidence)
{
	r->hang = (struct hang_view){.hung = !over,
				     .onset_ns = 1050 * S,
				     .size_ns = 42 * S,
				     .why = why,
				     .count = 1,
				     .total_ns = 42 * S};
	snprintf(r->hang.phase, sizeof(r->hang.phase), "backward");
	snprintf(r->hang.evidence, sizeof(r->hang.evidence), "%s", evidence);
}

static inline struct attach_view *fixture_attach(struct fixture *f, const char *id,
						 const char *library, int state, uint64_t hits)
{
	struct attach_view *a = &f->attach[f->s.nattach++];

	snprintf(a->id, sizeof(a->id), "%s", id);
	snprintf(a->runtime, sizeof(a->runtime), "torch");
	snprintf(a->at.library, sizeof(a->at.library), "%s", library);
	a->at.state = (uint8_t)state;
	a->hits = hits;
	return a;
}

#endif
