/* SPDX-License-Identifier: Apache-2.0 */
/* step_candidate.c - finds steps in the marks of one family: groups marks into updates, finds out
 * how many updates make a step, and gives out the steps.
 *
 * Rule B2: a mark opens a new group if a backward pass or a batch fetch lies between the previous
 * mark and the end of this one. (A closure runs the backward pass inside the range.) Otherwise the
 * mark joins the open group: several optimizers may make one step, and some scripts use an
 * optimizer for each parameter. A group is closed when no further mark can join it. */
#include "userspace/model/step/step_private.h"

/* A group of up to this many updates is never split, see candidate_limit(). */
#define GROUP_MIN 64
/* The array of held groups is freed when it is empty, if it has room for more groups than this. */
#define HELD_KEPT 16
/* If ODD_LIMIT updates within ODD_WINDOW updates do not fit the pattern, updates have no fixed
 * order and each one counts as a step. */
#define ODD_WINDOW 64
#define ODD_LIMIT  4

struct candidate *candidate_new(struct step_finder *sf, enum family f, uint32_t loop)
{
	struct candidate *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->family = f;
	l->loop = loop;
	l->live = sf->elected == f;
	return l;
}

void candidate_free(struct candidate *l)
{
	if (!l)
		return;
	free(l->ends);
	free(l->held);
	free(l->history);
	free(l);
}

void candidate_forget(struct candidate *l)
{
	l->nheld = 0;
	l->open = false;
}

void candidate_spare(struct candidate *l)
{
	if (!l->nheld && l->held_cap > HELD_KEPT)
		l->held = grow_free(l->held, &l->held_cap);
}

/* Returns true if the held groups of the candidate may still be needed, because its family may be
 * elected later. anon_start() also reads held groups, so they are kept if FAMILY_ANON or a less
 * trusted family is elected. */
bool candidate_hopes(const struct step_finder *sf, const struct candidate *l)
{
	if (sf->fixed)
		return false;
	return sf->elected == FAMILY_NONE || family_row[sf->elected].gives_way ||
	       sf->elected >= FAMILY_ANON || l->family < sf->elected;
}

static bool candidate_hold(struct step_finder *sf, struct candidate *l, const struct group *g)
{
	struct group *held = grow_add(l->held, l->nheld, l->held_cap, STEP_HELD);

	if (held)
		*held = *g;
	else
		sf->error = -ENOMEM;
	return held;
}

/* ---- from groups to steps -------------------------------------------------------------------- */

static void candidate_held_drop(struct candidate *l, uint32_t n)
{
	if (!n)
		return;
	l->nheld -= n;
	memmove(l->held, l->held + n, l->nheld * sizeof(*l->held));
}

static void candidate_group_join(struct group *to, const struct group *g)
{
	uint64_t begin_ns = to->updates ? to->begin_ns : g->begin_ns;
	struct token token = to->updates ? to->token : g->token;
	struct hits hits = hits_add(to->hits, g->hits);
	uint32_t updates = to->updates + g->updates, flags = to->flags | g->flags;

	*to = *g;
	to->begin_ns = begin_ns;
	to->token = token;
	to->hits = hits;
	to->updates = updates;
	to->flags = flags;
}

static void candidate_sum_emit(struct step_finder *sf, struct candidate *l)
{
	struct group g = l->sum;

	if (!l->sum_groups)
		return;
	l->sum_groups = 0;
	l->sum = (struct group){0};
	step_emit(sf, l, &g);
}

/* Adds a group to the step in progress. Such a step lasts from one update of the leading optimizer
 * to the next, or to a long silence. Updates of other optimizers before the leader's first update
 * join its step. */
static void candidate_place_led(struct step_finder *sf, struct candidate *l, const struct group *g)
{
	if (token_leads(&g->token, &l->unit.pattern[0])) {
		candidate_sum_emit(sf, l);
	} else if (!l->sum_groups) {
		candidate_group_join(&l->sum, g);
		return;
	}
	candidate_group_join(&l->sum, g);
	if (++l->sum_groups < STEP_PERIOD - 1)
		return;
	/* The leader made no update for too long, so no optimizer leads any more. */
	l->unit = (struct unit){.size = 1, .any = true, .ambiguous = true};
	candidate_sum_emit(sf, l);
}

/* Adds a group that fits the pattern to the step in progress. */
static void candidate_place(struct step_finder *sf, struct candidate *l, const struct group *g)
{
	if (g->skipped) {
		step_emit(sf, l, g);
	} else if (l->unit.lead) {
		candidate_place_led(sf, l, g);
	} else {
		candidate_group_join(&l->sum, g);
		if (++l->sum_groups >= l->unit.size)
			candidate_sum_emit(sf, l);
	}
}

/* Makes a separate step from a group that does not fit the pattern. */
static void candidate_place_alone(struct step_finder *sf, struct candidate *l,
				  const struct group *g)
{
	candidate_sum_emit(sf, l);
	step_emit(sf, l, g);
}

static uint32_t candidate_held_tokens(const struct candidate *l, struct token *out, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nheld && n < max; i++) {
		if (!l->held[i].skipped)
			out[n++] = l->held[i].token;
	}
	return n;
}

/* Drops updates before the process's first backward pass: they only initialize the optimizer's
 * state, as checkpoint loaders do. If there is never a backward pass (evolution strategies), they
 * are kept. */
static void candidate_held_drop_setup(struct step_finder *sf, struct candidate *l)
{
	uint32_t n = 0;

	if (!sf->config.from_start || !sf->backward ||
	    (l->family > FAMILY_UPDATE_OP && l->family != FAMILY_PARAM_OP))
		return;
	while (n < l->nheld && l->held[n].seq < sf->first_backward_seq && !l->held[n].skipped)
		n++;
	candidate_held_drop(l, n);
}

/* Records that only the optimizer of *t makes updates from now on. Increases l->returns if this
 * optimizer already did so in an earlier stage. */
static void candidate_stage(struct candidate *l, const struct token *t)
{
	if (!t->ident || t->fetched || token_same_optimizer(t, &l->stages[0]))
		return;
	for (uint32_t i = 1; i < STAGES; i++)
		l->returns += token_same_optimizer(t, &l->stages[i]);
	memmove(l->stages + 1, l->stages, sizeof(l->stages) - sizeof(l->stages[0]));
	l->stages[0] = *t;
}

/* Locks the loop and turns the held groups into steps; u->from and u->first are indexes in l->held.
 * Each group before u->from becomes a separate step. The groups from u->from to u->first are
 * dropped; but at the first lock after gp-bpf attached to a running process, they become one step,
 * the rest of a step that began before. */
static void candidate_lock(struct step_finder *sf, struct candidate *l, const struct unit *u)
{
	bool first_time = l->mode == CANDIDATE_LEARNING,
	     attached = first_time && !sf->config.from_start;
	uint32_t i = 0;

	if (!first_time && (u->size != l->unit.size || u->period != l->unit.period))
		l->regrouped++;
	l->unit = *u;
	l->mode = CANDIDATE_LOCKED;
	if (u->period == 1 && !u->any)
		candidate_stage(l, &u->pattern[0]);
	for (uint32_t n = 0; n < l->nheld; n++) {
		const struct group *g = &l->held[n];

		if (g->skipped || i >= u->first) {
			candidate_place(sf, l, g);
		} else if (i < u->from && !(attached && u->from == 1)) {
			candidate_place_alone(sf, l, g);
		} else if (attached) {
			candidate_group_join(&l->sum, g);
			l->sum_groups = 1;
			if (i + 1 == u->first)
				candidate_sum_emit(sf, l);
		}
		i += !g->skipped;
	}
	l->nheld = 0;
	candidate_spare(l);
}

static void candidate_input(const struct step_finder *sf, const struct candidate *l,
			    struct unit_input *ret)
{
	ret->from_start = l->mode == CANDIDATE_RELEARNING || sf->config.from_start;
	ret->fetch_ends = l->family == FAMILY_ZERO_GRAD && sf->zero_grad_first;
}

static bool candidate_odd_often(struct candidate *l)
{
	memmove(l->odd + 1, l->odd, sizeof(l->odd) - sizeof(l->odd[0]));
	l->odd[0] = l->tokens;
	return l->odd[ODD_LIMIT - 1] && l->tokens - l->odd[ODD_LIMIT - 1] <= ODD_WINDOW;
}

/* While a new pattern is searched: returns true if the old pattern has come back. The groups that
 * were held in between become separate steps. */
static bool candidate_resume(struct step_finder *sf, struct candidate *l, const struct token *t,
			     uint32_t n)
{
	uint32_t size = l->unit.size, need = size + 1;

	if (!size || n < need)
		return false;
	for (uint32_t i = 0; i < need; i++) {
		if (!token_equal(&t[n - need + i], &l->unit.pattern[i % size], l->unit.by_class))
			return false;
	}
	l->mode = CANDIDATE_LOCKED;
	for (uint32_t i = 0, k = 0; i < l->nheld; i++) {
		const struct group *g = &l->held[i];

		if (g->skipped || k >= n - need)
			candidate_place(sf, l, g);
		else
			candidate_place_alone(sf, l, g);
		k += !g->skipped;
	}
	l->nheld = 0;
	candidate_spare(l);
	return true;
}

static void candidate_learn(struct step_finder *sf, struct candidate *l)
{
	struct token t[STEP_TOKENS];
	struct unit_input in = {.tokens = t};
	struct unit u;
	bool joins;

	if (l->mode == CANDIDATE_LEARNING)
		candidate_held_drop_setup(sf, l);
	in.count = candidate_held_tokens(l, t, STEP_TOKENS);
	candidate_input(sf, l, &in);
	joins = l->mode == CANDIDATE_RELEARNING && unit_joins(&l->unit, t, in.count);
	if (l->mode == CANDIDATE_RELEARNING && !joins && candidate_resume(sf, l, t, in.count))
		return;
	in.turns = joins;
	if (unit_learn(&in, &u)) {
		if (sf->config.multiply > 1)
			u = (struct unit){.period = 1, .size = 1, .any = true};
		candidate_lock(sf, l, &u);
	} else if (joins && in.count >= CLASS_TOKENS && unit_follow(&l->unit, t, in.count, &u)) {
		candidate_lock(sf, l, &u);
	} else if (l->nheld == STEP_HELD) {
		unit_guess(&in, &u);
		candidate_lock(sf, l, &u);
	}
}

static bool candidate_fits(const struct candidate *l, const struct group *g)
{
	const struct unit *u = &l->unit;

	return g->skipped || u->any || u->lead ||
	       token_equal(&g->token, &u->pattern[l->sum_groups], u->by_class);
}

/* If there is no pattern, or one optimizer starts each step: searches again for a pattern every
 * STEP_TOKENS updates, because another stage of the training may have a pattern. */
static void candidate_recheck(struct step_finder *sf, struct candidate *l)
{
	struct token t[STEP_TOKENS];
	struct unit_input in = {.tokens = t, .count = STEP_TOKENS};
	struct unit u;

	if (!(l->unit.any || l->unit.lead) || sf->config.multiply > 1 || l->tokens < STEP_TOKENS ||
	    l->tokens % STEP_TOKENS)
		return;
	for (uint32_t i = 0; i < STEP_TOKENS; i++)
		t[i] = l->history[(l->tokens + i) % STEP_TOKENS];
	in.fetch_ends = l->family == FAMILY_ZERO_GRAD && sf->zero_grad_first;
	if (!unit_learn_mostly(&in, &u))
		u = (struct unit){.size = 1, .ambiguous = true};
	if (u.lead && l->unit.lead && !token_same_optimizer(&u.pattern[0], &l->unit.pattern[0]) &&
	    unit_follow(&l->unit, t, STEP_TOKENS, &u))
		return; /* several optimizers could lead: keep the previous leader */
	u.any = u.size == 1 && !u.lead;
	if (l->unit.lead && !u.lead)
		candidate_sum_emit(sf, l);
	if (u.size == 1) {
		l->unit = u;
		return;
	}
	/* Hold groups until the whole new pattern has occurred. Each group before that becomes a
	 * separate step (candidate_resume()). */
	l->unit = u;
	l->mode = CANDIDATE_RELEARNING;
	l->regrouped++;
}

/* Handles a group whose token does not fit the pattern of a locked candidate. */
static void candidate_unfit(struct step_finder *sf, struct candidate *l, const struct group *g)
{
	candidate_sum_emit(sf, l);
	/* the previous step is incomplete; this group starts the next one */
	if (candidate_fits(l, g)) {
		candidate_place(sf, l, g);
	} else if (candidate_odd_often(l)) {
		l->unit = (struct unit){.size = 1, .any = true, .ambiguous = true};
		candidate_place(sf, l, g);
	} else {
		l->mode = CANDIDATE_RELEARNING;
		if (candidate_hold(sf, l, g))
			candidate_learn(sf, l);
	}
}

static bool candidate_history(struct step_finder *sf, struct candidate *l, const struct token *t)
{
	if (!l->history)
		l->history = calloc(STEP_TOKENS, sizeof(*l->history));
	if (!l->history) {
		sf->error = -ENOMEM;
		return false;
	}
	l->history[l->tokens++ % STEP_TOKENS] = *t;
	candidate_recheck(sf, l);
	return true;
}

/* Returns the optimizer's identity for the newest token. If that is unknown, returns the identity
 * one period earlier. */
static uint64_t candidate_ident(const struct candidate *l, const struct token *t)
{
	const struct token *before;

	if (t->ident || !l->unit.lead || !l->unit.period || l->tokens <= l->unit.period)
		return t->ident;
	before = &l->history[(l->tokens - 1 - l->unit.period) % STEP_TOKENS];
	return token_equal(t, before, false) ? before->ident : 0;
}

static void candidate_push(struct step_finder *sf, struct candidate *l, struct group *g)
{
	if (l->live && !g->skipped && !candidate_history(sf, l, &g->token))
		return;
	if (l->live && l->mode == CANDIDATE_LOCKED) {
		if (!g->skipped)
			g->token.ident = candidate_ident(l, &g->token);
		if (candidate_fits(l, g))
			candidate_place(sf, l, g);
		else
			candidate_unfit(sf, l, g);
		return;
	}
	if (!l->live && !candidate_hopes(sf, l))
		return;
	if (l->nheld == STEP_HELD)
		candidate_held_drop(l, STEP_HELD / 2);
	if (candidate_hold(sf, l, g) && l->live)
		candidate_learn(sf, l);
}

void candidate_digest(struct step_finder *sf, struct candidate *l)
{
	struct group *held = l->held;
	uint32_t n = l->nheld;

	if (!l->live || !n)
		return;
	l->held = NULL;
	l->nheld = l->held_cap = 0;
	for (uint32_t i = 0; i < n; i++)
		candidate_push(sf, l, &held[i]);
	free(held);
}

/* ---- from marks to groups -------------------------------------------------------------------- */

/* Splits the open group: each of its marks becomes a separate update. */
static void candidate_split(struct step_finder *sf, struct candidate *l)
{
	struct group g = l->group, one = g;

	l->open = false;
	one.updates = 1;
	for (uint32_t i = 0; i < g.updates && i < STEP_MEMBERS; i++) {
		one.end_ns = l->ends[i];
		if (i)
			one.hits = (struct hits){0};
		candidate_push(sf, l, &one);
	}
}

static uint32_t candidate_limit(const struct candidate *l)
{
	return 4 * l->largest > GROUP_MIN ? 4 * l->largest : GROUP_MIN;
}

void candidate_close(struct step_finder *sf, struct candidate *l, bool by_backward)
{
	struct group g = l->group;

	if (by_backward)
		l->loose = false;
	if (!l->open)
		return;
	l->open = false;
	if (by_backward && g.updates > l->largest)
		l->largest = g.updates;
	candidate_push(sf, l, &g);
}

static bool candidate_remember_end(struct candidate *l, uint64_t end_ns)
{
	uint64_t *ends;
	uint32_t cap = l->ends_cap ? 2 * l->ends_cap : 8;

	if (l->group.updates > STEP_MEMBERS)
		return true;
	if (l->group.updates > l->ends_cap) {
		ends = realloc(l->ends, cap * sizeof(*ends));
		if (!ends)
			return false;
		l->ends = ends;
		l->ends_cap = cap;
	}
	l->ends[l->group.updates - 1] = end_ns;
	return true;
}

static void candidate_group_open(struct candidate *l, const struct mark *m, bool fetched)
{
	l->group = (struct group){
		.token = {.ident = m->ident, .name = m->name, .fetched = fetched},
		.begin_ns = m->begin_ns,
		.end_ns = m->end_ns,
		.seq = m->seq,
		.hits = hits_add(m->hits, l->rest),
		.updates = !m->skipped,
		.tid = m->tid,
		.flags = m->flags | (l->taint ? STEP_tainted : 0),
		.skipped = m->skipped,
	};
	l->rest = (struct hits){0};
	l->taint = false;
	l->open = true;
}

static void candidate_group_add(struct candidate *l, const struct mark *m)
{
	struct group *g = &l->group;

	g->updates++;
	g->end_ns = m->end_ns;
	g->tid = m->tid;
	g->flags |= m->flags;
	g->hits = hits_add(g->hits, m->hits);
}

void candidate_mark(struct step_finder *sf, struct candidate *l, const struct mark *m)
{
	bool fetched = m->fetch_seq > l->last_seq;
	/* If the last mark was another thread's, a backward pass of this mark's thread also
	 * separates the two updates: it cannot be part of the other thread's update. (Two loops may
	 * have been treated as one.) */
	bool separate = m->sep_seq > l->last_seq || (m->span_ns && m->tid != l->last_tid);
	bool opens = !l->any || !sf->backward || separate || m->apart || m->skipped || l->loose ||
		     l->unwatched;

	if (separate)
		candidate_close(sf, l, true);
	if (l->family == FAMILY_RANGES ? !l->marks && !m->skipped
				       : !l->any && !*sf->loops[l->loop]->name)
		memcpy(sf->loops[l->loop]->name, sf->threads[m->thread].class,
		       sizeof(sf->loops[l->loop]->name));
	/* After a gap in the observation the fetch of the batch may have been missed: assume what
	 * the pattern says. */
	if (l->unwatched && l->mode == CANDIDATE_LOCKED)
		fetched |= l->unit.pattern[l->sum_groups].fetched;
	l->unwatched = false;
	l->any = true;
	l->last_seq = m->seq;
	l->last_tid = m->tid;
	l->marks += !m->skipped;
	if (opens) {
		candidate_close(sf, l, false);
		candidate_group_open(l, m, fetched);
	} else if (l->open) {
		candidate_group_add(l, m);
	} else { /* no group is open to join: keep only the hits of the mark, for the next group */
		l->rest = hits_add(l->rest, m->hits);
		return;
	}
	if (!m->skipped && !candidate_remember_end(l, m->end_ns))
		sf->error = -ENOMEM;
	if (m->apart || m->skipped)
		candidate_close(sf, l, false);
	else if (l->group.updates >= STEP_MEMBERS ||
		 (l->mode == CANDIDATE_LOCKED && l->group.updates > candidate_limit(l))) {
		l->loose = true;
		candidate_split(sf, l);
	}
}

/* Ends the step in progress after a time without updates. Otherwise the step would last until the
 * next one starts. */
void candidate_still(struct step_finder *sf, struct candidate *l)
{
	if (l->live && l->unit.lead && l->sum_groups)
		candidate_sum_emit(sf, l);
}

/* At the end of the process: turns the held groups into steps as well as possible. */
void candidate_finish(struct step_finder *sf, struct candidate *l)
{
	struct token t[STEP_TOKENS];
	struct unit_input in = {.tokens = t};
	struct unit u;

	if (l->open && l->group.updates > candidate_limit(l))
		candidate_split(sf, l);
	candidate_close(sf, l, false);
	if (!l->live)
		return;
	if (l->mode == CANDIDATE_RELEARNING) {
		for (uint32_t i = 0; i < l->nheld; i++)
			candidate_place_alone(sf, l, &l->held[i]);
		l->nheld = 0;
		l->mode = CANDIDATE_LOCKED;
	}
	candidate_held_drop_setup(sf, l);
	in.count = candidate_held_tokens(l, t, STEP_TOKENS);
	if (l->mode == CANDIDATE_LOCKED || !l->nheld) {
		candidate_still(sf, l);
		return;
	}
	candidate_input(sf, l, &in);
	unit_guess(&in, &u);
	if (sf->config.multiply > 1)
		u = (struct unit){.period = 1, .size = 1, .any = true};
	candidate_lock(sf, l, &u);
	candidate_still(sf, l);
}
