/* SPDX-License-Identifier: Apache-2.0 */
/* step_save.c - saves and restores the step finder. Restoring checks all indexes and counts, which
 * other files use without a check. */
#include "userspace/model/step/step_program.h"

void step_config_archive(struct archive *a, struct step_config *cfg)
{
	archive_struct(a, sizeof(*cfg));
	archive_below(a, &cfg->force, BOUNDARY_COUNT);
	archive_fields(a, cfg, multiply, from_start, probe, probe_id);
}

void step_state_archive(struct archive *a, struct step_state *st)
{
	archive_struct(a, sizeof(*st));
	archive_below(a, &st->state, STATE_ENDED + 1);
	archive_below(a, &st->tier, TIER_COUNT);
	archive_below(a, &st->boundary, BOUNDARY_COUNT);
	archive_below(a, &st->unit, UNIT_COUNT);
	archive_below(a, &st->series, SERIES_COUNT);
	archive_fields(a, st, loop, loops, since_attach, late, undercounted, confidence);
	archive_require(a, st->confidence >= 0 && st->confidence <= 1);
	archive_fields(a, st, steps, updates, period, marker, ratios, reason);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void step_thread_archive(struct archive *a, struct step_thread *t)
{
	archive_fields(a, t, tid, backward, owns, seen_seq, seen_ns, backward_seq, fetch_seq,
		       backward_ns, first_ns, update_open, update_ident, amp_backward, amp_update,
		       zero_grad_backwards, zero_grad_seen, zero_grad_name);
	archive_fields(a, t, class);
	hits_archive(a, &t->hits);
	for (int f = 0; f < FAMILY_COUNT; f++)
		hits_archive(a, &t->base[f]);
	archive_field(a, t->span_ns);
}

static void step_mark_archive(struct archive *a, const struct step_finder *sf, struct mark *m)
{
	archive_fields(a, m, begin_ns, end_ns, span_ns, seq, backward_seq, sep_seq, fetch_seq);
	hits_archive(a, &m->hits);
	archive_fields(a, m, ident, name, tid, flags);
	archive_below(a, &m->thread, sf->nthreads);
	archive_fields(a, m, apart, skipped);
}

static void step_pass_archive(struct archive *a, const struct step_finder *sf, struct anon_pass *p)
{
	step_mark_archive(a, sf, &p->mark);
	archive_fields(a, p, second_ns, opens);
}

static void step_anon_archive(struct archive *a, const struct step_finder *sf, struct anon **at,
			      uint32_t thread)
{
	struct anon *n = *at = archive_object(a, *at, sizeof(*n));

	if (!n)
		return;
	n->thread = thread;
	archive_fields(a, n, backwards, running, settled, accumulates, reduces, base, gathered,
		       each, last);
	step_pass_archive(a, sf, &n->pass);
	archive_below(a, &n->backlog, ANON_PASSES);
	if (archive_reads(a) && n->backlog) {
		n->passes = archive_alloc(a, n->backlog, sizeof(*n->passes));
		n->passes_cap = n->backlog = n->passes ? n->backlog : 0;
	}
	for (uint32_t i = 0; i < n->backlog; i++)
		step_pass_archive(a, sf, &n->passes[i]);
}

static void step_threads_archive(struct archive *a, struct step_finder *sf)
{
	archive_items(a, sf->threads, sf->nthreads, sf->threads_cap, STEP_THREADS);
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		step_thread_archive(a, &sf->threads[i]);
		step_anon_archive(a, sf, &sf->anon[i], i);
	}
	archive_below(a, &sf->backward_thread, sf->nthreads + 1);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void step_queue_archive(struct archive *a, const struct step_finder *sf, struct tracker *t)
{
	archive_items(a, t->queue, t->nqueue, t->queue_cap, STEP_QUEUE - 1);
	for (uint32_t i = 0; i < t->nqueue; i++)
		step_mark_archive(a, sf, &t->queue[i]);
}

static void step_tracker_archive(struct archive *a, const struct step_finder *sf,
				 struct tracker **at, enum family f)
{
	struct tracker *t = *at = archive_object(a, *at, sizeof(*t));
	uint32_t n;

	if (!t)
		return;
	n = t->ncandidates;
	archive_count(a, &n, STEP_LOOPS, sizeof(struct candidate));
	for (uint32_t i = 0; i < n && !a->error; i++) {
		candidate_archive(a, sf, &t->candidates[i], f, i);
		t->ncandidates = archive_reads(a) && t->candidates[i] ? i + 1 : t->ncandidates;
	}
	for (uint32_t i = 0; i < STEP_THREADS; i++)
		archive_below(a, &t->candidate_of[i], t->ncandidates + 1);
	step_queue_archive(a, sf, t);
	archive_fields(a, t, first_candidate_seq, first_candidate_thread, changes, overlaps, marks,
		       last_seq, since_better);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_loop_archive(struct archive *a, struct loop **at)
{
	struct loop *lp = *at = archive_object(a, *at, sizeof(*lp));

	archive_require(a, lp);
	if (!lp)
		return;
	archive_fields(a, lp, used, start_ns, number);
	group_archive(a, &lp->many);
	archive_fields(a, lp, nmany, nrecent, ambiguous);
	for (uint64_t i = 0; i < STEP_RECENT && i < lp->nrecent; i++) {
		hits_archive(a, &lp->recent[i]);
		archive_field(a, lp->recent_ns[i]);
	}
	archive_fields(a, lp, tainted, waits, name);
	step_state_archive(a, &lp->reported);
}

static void step_archive(struct archive *a, struct step *s)
{
	archive_field(a, s->optimizer);
	archive_below(a, &s->loop, STEP_LOOPS);
	archive_fields(a, s, number, start_ns, end_ns, micro_batches, updates, flags);
	archive_below(a, &s->tier, TIER_COUNT);
	archive_below(a, &s->boundary, BOUNDARY_COUNT);
	archive_below(a, &s->unit, UNIT_COUNT);
	archive_below(a, &s->series, SERIES_COUNT);
	archive_field(a, s->tid);
}

/* Saves or restores the finished steps that step_finder_next() has not returned yet. */
static void step_out_archive(struct archive *a, struct step_finder *sf)
{
	uint32_t n = sf->nout - sf->out_head;

	archive_count(a, &n, UINT32_MAX, sizeof(*sf->out));
	if (archive_reads(a) && n) {
		sf->out = archive_alloc(a, n, sizeof(*sf->out));
		sf->out_cap = sf->nout = n = sf->out ? n : 0;
	}
	for (uint32_t i = sf->nout - n; i < sf->nout; i++)
		step_archive(a, &sf->out[i]);
}

static void step_seen_archive(struct archive *a, struct step_finder *sf)
{
	archive_fields(a, sf, seq, now_ns, first_ns, watched_ns, ended, backward, fetched,
		       zero_grad, first_backward_seq, updates_begun, updates_open, amps, skips,
		       losses, optimizers, optimizer_after);
	archive_fields(a, sf, strays, operated_backwards, stray, operated, zero_grad_class,
		       step_class, zero_grad_first, zero_grad_known, anonymous, programs.layer,
		       programs.compiled, programs.cached);
}

static void step_cycle_archive(struct archive *a, struct cycle **at)
{
	struct cycle *c = *at = archive_object(a, *at, sizeof(*c));

	if (!c)
		return;
	archive_fields(a, c, n, first_ns, probe, votes);
	for (uint32_t i = 0; i < CYCLE_WAITS; i++)
		archive_fields(a, &c->wait[i], begin_ns, end_ns, ident, tid);
}

void step_finder_archive(struct archive *a, struct step_finder **at)
{
	struct step_finder *sf = *at = archive_object(a, *at, sizeof(*sf));

	if (!sf)
		return;
	step_config_archive(a, &sf->config);
	step_seen_archive(a, sf);
	archive_below(a, &sf->elected, FAMILY_NONE + 1);
	archive_fields(a, sf, fixed, waited);
	exec_archive(a, &sf->exec);
	step_cycle_archive(a, &sf->cycle);
	step_threads_archive(a, sf);
	for (int f = 0; f < FAMILY_COUNT; f++)
		step_tracker_archive(a, sf, &sf->trackers[f], (enum family)f);
	archive_below(a, &sf->nloops, tracker_loops(sf) + 1);
	for (uint32_t i = 0; i < tracker_loops(sf); i++)
		step_loop_archive(a, &sf->loops[i]);
	step_out_archive(a, sf);
}
