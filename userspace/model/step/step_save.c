/* SPDX-License-Identifier: Apache-2.0 */
/* step_save.c - state of the step finder as bytes. Checks everything that other files rely on when
 * they use indexes. */
#include "userspace/model/step/step_program.h"

void step_config_archive(struct archive *a, struct step_config *cfg)
{
	archive_struct(a, sizeof(*cfg));
	archive_below(a, &cfg->force, BOUNDARY_COUNT);
	archive_number(a, &cfg->multiply);
	archive_number(a, &cfg->from_start);
	archive_number(a, &cfg->probe);
	archive_text(a, cfg->probe_id);
}

void step_state_archive(struct archive *a, struct step_state *st)
{
	archive_struct(a, sizeof(*st));
	archive_below(a, &st->state, STATE_ENDED + 1);
	archive_below(a, &st->tier, TIER_COUNT);
	archive_below(a, &st->boundary, BOUNDARY_COUNT);
	archive_below(a, &st->unit, UNIT_COUNT);
	archive_below(a, &st->series, SERIES_COUNT);
	archive_number(a, &st->loop);
	archive_number(a, &st->loops);
	archive_number(a, &st->since_attach);
	archive_number(a, &st->late);
	archive_number(a, &st->undercounted);
	archive_number(a, &st->confidence);
	archive_require(a, st->confidence >= 0 && st->confidence <= 1);
	archive_number(a, &st->steps);
	archive_number(a, &st->updates);
	archive_number(a, &st->period);
	archive_text(a, st->marker);
	archive_text(a, st->ratios);
	archive_text(a, st->reason);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void step_thread_archive(struct archive *a, struct step_thread *t)
{
	archive_number(a, &t->tid);
	archive_number(a, &t->backward);
	archive_number(a, &t->owns);
	archive_number(a, &t->seen_seq);
	archive_number(a, &t->seen_ns);
	archive_number(a, &t->backward_seq);
	archive_number(a, &t->fetch_seq);
	archive_number(a, &t->backward_ns);
	archive_number(a, &t->first_ns);
	archive_number(a, &t->update_open);
	archive_number(a, &t->update_ident);
	archive_number(a, &t->amp_backward);
	archive_number(a, &t->amp_update);
	archive_number(a, &t->zero_grad_backwards);
	archive_number(a, &t->zero_grad_seen);
	archive_number(a, &t->zero_grad_name);
	archive_text(a, t->class);
	hits_archive(a, &t->hits);
	for (int f = 0; f < FAMILY_COUNT; f++)
		hits_archive(a, &t->base[f]);
	archive_numbers(a, t->span_ns);
}

static void step_mark_archive(struct archive *a, const struct step_finder *sf, struct mark *m)
{
	archive_number(a, &m->begin_ns);
	archive_number(a, &m->end_ns);
	archive_number(a, &m->span_ns);
	archive_number(a, &m->seq);
	archive_number(a, &m->backward_seq);
	archive_number(a, &m->sep_seq);
	archive_number(a, &m->fetch_seq);
	hits_archive(a, &m->hits);
	archive_number(a, &m->ident);
	archive_number(a, &m->name);
	archive_number(a, &m->tid);
	archive_number(a, &m->flags);
	archive_below(a, &m->thread, sf->nthreads);
	archive_number(a, &m->apart);
	archive_number(a, &m->skipped);
}

static void step_pass_archive(struct archive *a, const struct step_finder *sf, struct anon_pass *p)
{
	step_mark_archive(a, sf, &p->mark);
	archive_number(a, &p->second_ns);
	archive_number(a, &p->opens);
}

static void step_anon_archive(struct archive *a, const struct step_finder *sf, struct anon **at,
			      uint32_t thread)
{
	struct anon *n = *at = archive_object(a, *at, sizeof(*n));

	if (!n)
		return;
	n->thread = thread;
	archive_number(a, &n->backwards);
	archive_number(a, &n->running);
	archive_number(a, &n->settled);
	archive_number(a, &n->accumulates);
	archive_number(a, &n->reduces);
	archive_number(a, &n->base);
	archive_number(a, &n->gathered);
	archive_number(a, &n->each);
	archive_number(a, &n->last);
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
	archive_count(a, &sf->nthreads, STEP_THREADS, sizeof(*sf->threads));
	if (archive_reads(a) && sf->nthreads) {
		sf->threads = archive_alloc(a, sf->nthreads, sizeof(*sf->threads));
		sf->threads_cap = sf->nthreads = sf->threads ? sf->nthreads : 0;
	}
	for (uint32_t i = 0; i < sf->nthreads; i++) {
		step_thread_archive(a, &sf->threads[i]);
		step_anon_archive(a, sf, &sf->anon[i], i);
	}
	archive_below(a, &sf->backward_thread, sf->nthreads + 1);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void step_queue_archive(struct archive *a, const struct step_finder *sf, struct tracker *t)
{
	archive_count(a, &t->nqueue, STEP_QUEUE - 1, sizeof(*t->queue));
	if (archive_reads(a) && t->nqueue) {
		t->queue = archive_alloc(a, t->nqueue, sizeof(*t->queue));
		t->queue_cap = t->nqueue = t->queue ? t->nqueue : 0;
	}
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
	archive_number(a, &t->first_candidate_seq);
	archive_number(a, &t->first_candidate_thread);
	archive_number(a, &t->changes);
	archive_number(a, &t->overlaps);
	archive_number(a, &t->marks);
	archive_number(a, &t->last_seq);
	archive_number(a, &t->since_better);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_loop_archive(struct archive *a, struct loop **at)
{
	struct loop *lp = *at = archive_object(a, *at, sizeof(*lp));

	archive_require(a, lp);
	if (!lp)
		return;
	archive_number(a, &lp->used);
	archive_number(a, &lp->start_ns);
	archive_number(a, &lp->number);
	group_archive(a, &lp->many);
	archive_number(a, &lp->nmany);
	archive_number(a, &lp->nrecent);
	archive_number(a, &lp->ambiguous);
	for (uint64_t i = 0; i < STEP_RECENT && i < lp->nrecent; i++) {
		hits_archive(a, &lp->recent[i]);
		archive_number(a, &lp->recent_ns[i]);
	}
	archive_number(a, &lp->tainted);
	archive_number(a, &lp->waits);
	archive_text(a, lp->name);
	step_state_archive(a, &lp->reported);
}

static void step_archive(struct archive *a, struct step *s)
{
	archive_number(a, &s->optimizer);
	archive_below(a, &s->loop, STEP_LOOPS);
	archive_number(a, &s->number);
	archive_number(a, &s->start_ns);
	archive_number(a, &s->end_ns);
	archive_number(a, &s->micro_batches);
	archive_number(a, &s->updates);
	archive_number(a, &s->flags);
	archive_below(a, &s->tier, TIER_COUNT);
	archive_below(a, &s->boundary, BOUNDARY_COUNT);
	archive_below(a, &s->unit, UNIT_COUNT);
	archive_below(a, &s->series, SERIES_COUNT);
	archive_number(a, &s->tid);
}

/* Finished steps that were not taken yet. */
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
	archive_number(a, &sf->seq);
	archive_number(a, &sf->now_ns);
	archive_number(a, &sf->first_ns);
	archive_number(a, &sf->watched_ns);
	archive_number(a, &sf->ended);
	archive_number(a, &sf->backward);
	archive_number(a, &sf->fetched);
	archive_number(a, &sf->zero_grad);
	archive_number(a, &sf->first_backward_seq);
	archive_number(a, &sf->updates_begun);
	archive_number(a, &sf->updates_open);
	archive_number(a, &sf->amps);
	archive_number(a, &sf->skips);
	archive_number(a, &sf->losses);
	archive_number(a, &sf->optimizers);
	archive_number(a, &sf->optimizer_after);
	archive_number(a, &sf->strays);
	archive_number(a, &sf->operated_backwards);
	archive_number(a, &sf->stray);
	archive_number(a, &sf->operated);
	archive_numbers(a, sf->zero_grad_class);
	archive_numbers(a, sf->step_class);
	archive_number(a, &sf->zero_grad_first);
	archive_number(a, &sf->zero_grad_known);
	archive_number(a, &sf->anonymous);
	archive_number(a, &sf->programs.layer);
	archive_number(a, &sf->programs.compiled);
	archive_number(a, &sf->programs.cached);
}

static void step_cycle_archive(struct archive *a, struct cycle **at)
{
	struct cycle *c = *at = archive_object(a, *at, sizeof(*c));

	if (!c)
		return;
	archive_number(a, &c->n);
	archive_number(a, &c->first_ns);
	archive_text(a, c->probe);
	archive_number(a, &c->votes);
	for (uint32_t i = 0; i < CYCLE_WAITS; i++) {
		archive_number(a, &c->wait[i].begin_ns);
		archive_number(a, &c->wait[i].end_ns);
		archive_number(a, &c->wait[i].ident);
		archive_number(a, &c->wait[i].tid);
	}
}

void step_finder_archive(struct archive *a, struct step_finder **at)
{
	struct step_finder *sf = *at = archive_object(a, *at, sizeof(*sf));

	if (!sf)
		return;
	step_config_archive(a, &sf->config);
	step_seen_archive(a, sf);
	archive_below(a, &sf->elected, FAMILY_NONE + 1);
	archive_number(a, &sf->fixed);
	archive_number(a, &sf->waited);
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
