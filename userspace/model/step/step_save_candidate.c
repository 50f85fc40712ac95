/* SPDX-License-Identifier: Apache-2.0 */
/* step_save_candidate.c - saves and restores a loop candidate. Restoring checks all indexes, which
 * step_candidate.c uses without a check. */
#include "userspace/model/step/step_private.h"

static void step_token_archive(struct archive *a, struct token *t)
{
	archive_fields(a, t, ident, name, fetched);
}

void group_archive(struct archive *a, struct group *g)
{
	step_token_archive(a, &g->token);
	archive_fields(a, g, begin_ns, end_ns, seq);
	hits_archive(a, &g->hits);
	archive_fields(a, g, updates, tid, flags, skipped);
}

/* u->from and u->first are not saved: they are indexes of held groups, which candidate_lock() has
 * removed. */
static void step_unit_archive(struct archive *a, struct unit *u)
{
	archive_below(a, &u->period, STEP_PERIOD + 1);
	archive_below(a, &u->size, STEP_PERIOD + 1);
	archive_fields(a, u, fresh, ambiguous, any, by_class, lead, leads, optimizers);
	for (uint32_t i = 0; i < (u->lead ? 1 : u->period); i++)
		step_token_archive(a, &u->pattern[i]);
}

/* Saves or restores the end times of the marks of the open group, which candidate_split() needs. */
static void step_ends_archive(struct archive *a, struct candidate *l)
{
	uint32_t n = l->open ? l->group.updates : 0;

	archive_count(a, &n, STEP_MEMBERS, sizeof(*l->ends));
	if (archive_reads(a)) {
		archive_require(a, !l->open || n == l->group.updates);
		for (l->ends_cap = n ? 8 : 0; l->ends_cap < n; l->ends_cap *= 2)
			;
		l->ends = n ? archive_alloc(a, l->ends_cap, sizeof(*l->ends)) : NULL;
		n = l->ends ? n : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		archive_field(a, l->ends[i]);
}

static void step_held_archive(struct archive *a, struct candidate *l)
{
	archive_count(a, &l->nheld, STEP_HELD, sizeof(*l->held));
	if (archive_reads(a)) {
		archive_require(a, !l->nheld || !l->live || l->mode != CANDIDATE_LOCKED);
		l->held = l->nheld ? archive_alloc(a, l->nheld, sizeof(*l->held)) : NULL;
		l->held_cap = l->nheld = l->held ? l->nheld : 0;
	}
	for (uint32_t i = 0; i < l->nheld; i++)
		group_archive(a, &l->held[i]);
}

static void step_grouping_archive(struct archive *a, struct candidate *l)
{
	archive_fields(a, l, any, open, loose, taint, unwatched, largest, last_seq, last_tid);
	group_archive(a, &l->group);
	step_ends_archive(a, l);
	hits_archive(a, &l->rest);
	archive_field(a, l->marks);
}

void candidate_archive(struct archive *a, const struct step_finder *sf, struct candidate **at,
		       enum family f, uint32_t loop)
{
	struct candidate *l = *at = archive_object(a, *at, sizeof(*l));

	archive_require(a, l);
	if (!l)
		return;
	if (archive_reads(a)) {
		l->family = f;
		l->loop = loop;
		l->live = sf->elected == f;
	}
	step_grouping_archive(a, l);
	archive_below(a, &l->mode, CANDIDATE_RELEARNING + 1);
	step_held_archive(a, l);
	step_unit_archive(a, &l->unit);
	archive_require(a, l->unit.size || l->mode == CANDIDATE_LEARNING);
	group_archive(a, &l->sum);
	archive_below(a, &l->sum_groups, STEP_PERIOD);
	archive_field(a, l->tokens);
	if (archive_reads(a) && l->tokens)
		l->history = archive_alloc(a, STEP_TOKENS, sizeof(*l->history));
	for (uint64_t i = 0; l->history && i < STEP_TOKENS && i < l->tokens; i++)
		step_token_archive(a, &l->history[i]);
	archive_fields(a, l, odd, regrouped);
	for (uint32_t i = 0; i < STAGES; i++)
		step_token_archive(a, &l->stages[i]);
	archive_field(a, l->returns);
}

void hits_archive(struct archive *a, struct hits *h)
{
	archive_fields(a, h, backward, fetch, zero_grad, reducer);
}
