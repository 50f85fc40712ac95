/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "loader/budget/budget.h"
#include "userspace/base/table.h"

#define GROUPS	  (GP_GROUP_fault + 1)
#define SECOND_NS 1000000000ull
#define SMOOTH	  4 /* smoothing of costs: the latest second has a weight of 1 / SMOOTH */
/* The pause before a level is raised doubles when the level has to be lowered again. It becomes
 * short again after this number of pauses without a change of level. */
#define CALM 8
/* Probes are attached again (a level is raised) only if the expected cost is below 3/4 of the
 * limit. */
#define FITS(ns)   ((ns) - (ns) / 4)
#define FADE_SHIFT 63

struct cell { /* cost of a unit (the probes of one runtime) in one process, in ns per second */
	uint64_t now[GROUPS], mean[GROUPS];
	/* Part of now and mean that is caused by probes which find steps: they are never removed */
	uint64_t now_kept[GROUPS], mean_kept[GROUPS];
	/* Cost of the probes of group `confirm` that would be saved if their hits were counted
	 * instead of sent */
	uint64_t now_sent, mean_sent;
	/* Mean cost of a detached group before it was detached, ns per second */
	uint64_t held[GROUPS];
};

struct rank { /* sums of costs over all units of a process */
	uint64_t bounded_ns, marker_ns, marker_over_ns;
	bool seen, marker_reported;
};

/* The probes of one runtime, which share a level */
struct unit {
	enum budget_level level;
	uint64_t changed_ns, pause_ns;
	/* One bit per level: the levels that the unit has gone through to its present level */
	uint32_t taken;
	bool restored; /* the last change raised the level */
	bool protected[GROUPS];
};

struct budget {
	uint64_t limit_ns, pause_ns, clock_ns, over_ns;
	struct unit units[BUDGET_UNITS];
	struct table *cells; /* key: pid << 32 | unit */
	struct table *ranks; /* key: pid */
};

struct budget *budget_new(uint64_t limit_ns, uint64_t pause_ns)
{
	struct budget *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->limit_ns = limit_ns;
	b->pause_ns = pause_ns ? pause_ns : 1;
	b->cells = table_new();
	b->ranks = table_new();
	if (b->cells && b->ranks)
		return b;
	budget_free(b);
	return NULL;
}

void budget_free(struct budget *b)
{
	if (!b)
		return;
	table_free(b->cells, free);
	table_free(b->ranks, free);
	free(b);
}

enum budget_level budget_level(const struct budget *b, uint32_t unit)
{
	return unit < BUDGET_UNITS ? b->units[unit].level : BUDGET_ALL;
}

static void *budget_entry_get(struct table *t, uint64_t key, size_t size)
{
	void *entry = table_get(t, key);

	if (entry)
		return entry;
	entry = calloc(1, size);
	if (entry && !table_put(t, key, entry))
		return entry;
	free(entry);
	return NULL;
}

static uint64_t budget_cell_key(uint32_t pid, uint32_t unit)
{
	return (uint64_t)pid << 32 | unit;
}

int budget_add(struct budget *b, uint32_t pid, uint32_t unit, enum gp_group group, uint64_t cost_ns,
	       enum budget_hits hits)
{
	struct cell *c;

	if (unit >= BUDGET_UNITS || (unsigned int)group >= GROUPS)
		return 0;
	c = budget_entry_get(b->cells, budget_cell_key(pid, unit), sizeof(*c));
	if (!c || !budget_entry_get(b->ranks, pid, sizeof(struct rank)))
		return -ENOMEM;
	c->now[group] += cost_ns;
	if (hits == BUDGET_KEPT)
		c->now_kept[group] += cost_ns;
	if (hits == BUDGET_SENT && group == GP_GROUP_confirm)
		c->now_sent += cost_ns;
	return 0;
}

void budget_forget(struct budget *b, uint32_t pid)
{
	for (uint32_t unit = 0; unit < BUDGET_UNITS; unit++)
		free(table_take(b->cells, budget_cell_key(pid, unit)));
	free(table_take(b->ranks, pid));
}

/* ---- one second ------------------------------------------------------------------------------ */

static void budget_smooth(uint64_t *mean, uint64_t *now, uint64_t elapsed_ns)
{
	uint64_t rate = (uint64_t)((double)*now * SECOND_NS / (double)elapsed_ns);

	*mean = (*mean * (SMOOTH - 1) + rate) / SMOOTH;
	*now = 0;
}

static bool budget_cell_smooth(struct cell *c, uint64_t elapsed_ns)
{
	uint64_t any;

	budget_smooth(&c->mean_sent, &c->now_sent, elapsed_ns);
	any = c->mean_sent;
	for (int g = 0; g < GROUPS; g++) {
		budget_smooth(&c->mean[g], &c->now[g], elapsed_ns);
		budget_smooth(&c->mean_kept[g], &c->now_kept[g], elapsed_ns);
		any |= c->mean[g] | c->held[g];
	}
	return any;
}

static uint64_t budget_cell_kept(const struct cell *c)
{
	return c->mean_kept[GP_GROUP_bulk] + c->mean_kept[GP_GROUP_confirm];
}

/* Returns the cost that counts against the limit. */
static uint64_t budget_cell_bounded(const struct cell *c)
{
	return c->mean[GP_GROUP_bulk] + c->mean[GP_GROUP_confirm] - budget_cell_kept(c);
}

static void budget_cells_smooth(struct budget *b, uint64_t elapsed_ns)
{
	struct rank *r;
	struct cell *c;
	uint64_t key;

	for (size_t i = 0; (r = table_next(b->ranks, &i, NULL));) {
		r->bounded_ns = r->marker_ns = 0;
		r->seen = false;
	}
	for (size_t i = 0; (c = table_next(b->cells, &i, &key));) {
		if (!budget_cell_smooth(c, elapsed_ns)) {
			free(table_take(b->cells, key));
			continue;
		}
		r = table_get(b->ranks, key >> 32);
		r->seen = true;
		r->bounded_ns += budget_cell_bounded(c);
		r->marker_ns += c->mean[GP_GROUP_marker] + budget_cell_kept(c);
	}
	for (size_t i = 0; (r = table_next(b->ranks, &i, &key));)
		if (!r->seen)
			free(table_take(b->ranks, key));
}

static uint32_t budget_worst_find(const struct budget *b, uint64_t *ret_ns)
{
	const struct rank *r;
	uint32_t worst = 0;
	uint64_t pid;

	*ret_ns = 0;
	for (size_t i = 0; (r = table_next(b->ranks, &i, &pid));) {
		if (r->bounded_ns <= *ret_ns)
			continue;
		worst = (uint32_t)pid;
		*ret_ns = r->bounded_ns;
	}
	return worst;
}

static void budget_markers_report(struct budget *b, uint64_t elapsed_ns, budget_fn *fn, void *ctx)
{
	struct rank *r;
	uint64_t pid;

	for (size_t i = 0; (r = table_next(b->ranks, &i, &pid));) {
		r->marker_over_ns = r->marker_ns > b->limit_ns ? r->marker_over_ns + elapsed_ns : 0;
		if (r->marker_ns <= b->limit_ns / 2)
			r->marker_reported = false;
		if (r->marker_reported || r->marker_over_ns < BUDGET_SUSTAINED_NS)
			continue;
		r->marker_reported = true;
		fn(ctx, &(struct budget_change){.what = BUDGET_MARKER,
						.pid = (uint32_t)pid,
						.cost_ns = r->marker_ns});
	}
}

/* ---- down ------------------------------------------------------------------------------------ */

/* Returns the next level that would save this process any cost; the present level if none would. */
static enum budget_level budget_level_next(const struct unit *u, const struct cell *c)
{
	if (u->level < BUDGET_NO_BULK && c->mean[GP_GROUP_bulk] && !u->protected[GP_GROUP_bulk])
		return BUDGET_NO_BULK;
	if (u->level < BUDGET_COUNT && c->mean_sent)
		return BUDGET_COUNT;
	if (u->level < BUDGET_NO_CONFIRM && c->mean[GP_GROUP_confirm] &&
	    !u->protected[GP_GROUP_confirm])
		return BUDGET_NO_CONFIRM;
	return u->level;
}

static void budget_group_hold(struct budget *b, uint32_t unit, enum gp_group group)
{
	struct cell *c;
	uint64_t key;

	for (size_t i = 0; (c = table_next(b->cells, &i, &key));) {
		if ((uint32_t)key != unit)
			continue;
		c->held[group] = c->mean[group];
		c->mean[group] = c->mean_kept[group] = 0;
	}
}

/* Stops or starts the protection of a group's probes. A group that loses protection is detached if
 * the level of its unit requires it; a group that gains protection is attached again. */
void budget_protect(struct budget *b, uint32_t unit, enum gp_group group, bool protect)
{
	struct unit *u = unit < BUDGET_UNITS ? &b->units[unit] : NULL;

	if (!u || (unsigned int)group >= GROUPS || u->protected[group] == protect)
		return;
	u->protected[group] = protect;
	if (group == GP_GROUP_bulk && u->level >= BUDGET_NO_BULK && !protect)
		budget_group_hold(b, unit, group);
}

static void budget_unit_lower(struct budget *b, uint32_t unit, enum budget_level to)
{
	struct unit *u = &b->units[unit];
	bool mistake = u->restored && b->clock_ns - u->changed_ns < CALM * u->pause_ns;

	if (mistake)
		u->pause_ns = 2 * u->pause_ns < BUDGET_PAUSE_MAX_NS ? 2 * u->pause_ns
								    : BUDGET_PAUSE_MAX_NS;
	else if (u->level == BUDGET_ALL)
		u->pause_ns = b->pause_ns;
	if (u->level < BUDGET_NO_BULK && to >= BUDGET_NO_BULK && !u->protected[GP_GROUP_bulk])
		budget_group_hold(b, unit, GP_GROUP_bulk);
	if (to == BUDGET_NO_CONFIRM)
		budget_group_hold(b, unit, GP_GROUP_confirm);
	u->taken |= 1u << to;
	u->level = to;
	u->restored = false;
	u->changed_ns = b->clock_ns;
}

static bool budget_give_up(struct budget *b, uint32_t pid, uint64_t cost_ns, budget_fn *fn,
			   void *ctx)
{
	struct budget_change change = {.what = BUDGET_GIVEN_UP, .pid = pid, .cost_ns = cost_ns};
	uint64_t most = 0, gain;
	const struct cell *c;

	for (uint32_t unit = 0; unit < BUDGET_UNITS; unit++) {
		const struct unit *u = &b->units[unit];

		c = table_get(b->cells, budget_cell_key(pid, unit));
		gain = c ? budget_cell_bounded(c) : 0;
		if (gain <= most || budget_level_next(u, c) == u->level)
			continue;
		most = gain;
		change.unit = unit;
		change.from = u->level;
		change.to = budget_level_next(u, c);
	}
	if (!most)
		return false;
	budget_unit_lower(b, change.unit, change.to);
	fn(ctx, &change);
	return true;
}

/* ---- up -------------------------------------------------------------------------------------- */

static uint64_t budget_faded_ns(const struct budget *b, const struct unit *u, uint64_t held_ns)
{
	uint64_t halvings = (b->clock_ns - u->changed_ns) / u->pause_ns;

	return held_ns >> (halvings < FADE_SHIFT ? halvings : FADE_SHIFT);
}

/* Returns true if the group's probes are detached at level `from`, but attached at level `to`. */
static bool budget_group_returns(enum gp_group group, enum budget_level from, enum budget_level to)
{
	enum budget_level away = group == GP_GROUP_bulk ? BUDGET_NO_BULK : BUDGET_NO_CONFIRM;

	return from >= away && to < away;
}

static bool budget_forecast_fits(const struct budget *b, uint32_t unit, enum budget_level to)
{
	const struct unit *u = &b->units[unit];
	const struct rank *r;
	const struct cell *c;
	uint64_t pid, ns;

	for (size_t i = 0; (r = table_next(b->ranks, &i, &pid));) {
		c = table_get(b->cells, budget_cell_key((uint32_t)pid, unit));
		ns = r->bounded_ns;
		for (int g = GP_GROUP_confirm; c && g <= GP_GROUP_bulk; g++)
			if (budget_group_returns(g, u->level, to))
				ns += budget_faded_ns(b, u, c->held[g]);
		if (ns > FITS(b->limit_ns))
			return false;
	}
	return true;
}

static void budget_unit_raise(struct budget *b, uint32_t unit, enum budget_level to)
{
	struct unit *u = &b->units[unit];
	struct cell *c;
	uint64_t key;

	for (size_t i = 0; (c = table_next(b->cells, &i, &key));)
		for (int g = GP_GROUP_confirm; (uint32_t)key == unit && g <= GP_GROUP_bulk; g++)
			if (budget_group_returns(g, u->level, to))
				c->held[g] = 0;
	u->level = to;
	u->taken &= (2u << to) - 1;
	u->restored = true;
	u->changed_ns = b->clock_ns;
}

/* Returns the level from which the unit came to its present level. Levels are raised in the reverse
 * order. */
static enum budget_level budget_level_before(const struct unit *u)
{
	enum budget_level to = u->level;

	while (to > BUDGET_ALL && !(u->taken >> --to & 1))
		;
	return to;
}

static void budget_come_back(struct budget *b, budget_fn *fn, void *ctx)
{
	struct budget_change change = {.what = BUDGET_CAME_BACK};

	for (uint32_t unit = 0; unit < BUDGET_UNITS; unit++) {
		const struct unit *u = &b->units[unit];

		change.unit = unit;
		change.from = u->level;
		change.to = budget_level_before(u);
		if (u->level == BUDGET_ALL || b->clock_ns - u->changed_ns < u->pause_ns ||
		    !budget_forecast_fits(b, unit, change.to))
			continue;
		budget_unit_raise(b, unit, change.to);
		fn(ctx, &change);
		/* One change at a time: the cost of the new level has to be measured first */
		return;
	}
}

void budget_second(struct budget *b, uint64_t elapsed_ns, budget_fn *fn, void *ctx)
{
	uint64_t cost_ns;
	uint32_t pid;

	if (!elapsed_ns)
		return;
	b->clock_ns += elapsed_ns;
	budget_cells_smooth(b, elapsed_ns);
	if (!b->limit_ns)
		return;
	budget_markers_report(b, elapsed_ns, fn, ctx);
	pid = budget_worst_find(b, &cost_ns);
	b->over_ns = cost_ns > b->limit_ns ? b->over_ns + elapsed_ns : 0;
	if (b->over_ns < BUDGET_SUSTAINED_NS)
		budget_come_back(b, fn, ctx);
	else if (budget_give_up(b, pid, cost_ns, fn, ctx))
		b->over_ns = 0;
}
