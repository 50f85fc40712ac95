/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/budget/cost.h"
#include "loader/budget/tally.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

struct probe { /* a probe of the probe table, and its hit cost */
	const struct probe_row *row;
	uint32_t unit, hit_ns;
};

struct cost {
	struct budget *budget;
	struct tally *tally;
	struct table *probes; /* hash -> struct probe */
	const char *unit[BUDGET_UNITS];
	uint32_t units;
	uint64_t protected; /* a bit for each role whose probes the budget keeps */
	uint32_t chosen;    /* hash of the row that the user named to find steps; 0: none */
	uint64_t limit_ns, second_ns;
	/* Cost (ns, uint64_t) of the measurements since their probes were attached, by pid. */
	struct table *measured;
	bool measured_enough; /* it has reached the limit in some process: the probes are detached
			       */
};

static uint32_t cost_unit_of(struct cost *c, const char *runtime)
{
	uint32_t u = 0;

	while (u < c->units && strcmp(c->unit[u], runtime))
		u++;
	if (u == c->units && u < BUDGET_UNITS)
		c->unit[c->units++] = runtime;
	/* if this is BUDGET_UNITS, there are too many runtimes, and the probes of this one are
	 * never removed */
	return u;
}

static int cost_probes_index(struct cost *c, const struct probe_table *probes)
{
	for (size_t i = 0; i < probe_table_count(probes); i++) {
		const struct probe_row *row = probe_table_row(probes, i);
		struct probe *p = calloc(1, sizeof(*p));

		if (!p || table_put(c->probes, row->hash, p)) {
			free(p);
			return -ENOMEM;
		}
		*p = (struct probe){.row = row, .unit = cost_unit_of(c, row->runtime)};
	}
	return 0;
}

int cost_new(struct cost **ret, const struct probe_table *probes, uint64_t limit_ns,
	     uint64_t pause_ns)
{
	struct cost *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->limit_ns = limit_ns;
	c->budget = budget_new(limit_ns, pause_ns);
	c->tally = tally_new();
	c->probes = table_new();
	c->measured = table_new();
	if (c->budget && c->tally && c->probes && c->measured)
		err = cost_probes_index(c, probes);
	if (err)
		cost_free(c);
	else
		*ret = c;
	return err;
}

void cost_free(struct cost *c)
{
	if (!c)
		return;
	budget_free(c->budget);
	tally_free(c->tally);
	table_free(c->probes, free);
	table_free(c->measured, free);
	free(c);
}

void cost_set_hit(struct cost *c, uint32_t probe, uint32_t hit_ns)
{
	struct probe *p = table_get(c->probes, probe);

	if (p && hit_ns > p->hit_ns)
		p->hit_ns = hit_ns;
}

void cost_records(struct cost *c, const void *records, size_t len)
{
	tally_records(c->tally, records, len);
}

void cost_count(struct cost *c, pid_t pid, uint32_t probe, uint64_t hits)
{
	tally_count(c->tally, (uint32_t)pid, probe, hits);
}

void cost_forget(struct cost *c, pid_t pid)
{
	budget_forget(c->budget, (uint32_t)pid);
	free(table_take(c->measured, (uint32_t)pid));
}

static unsigned cost_row_group(const struct cost *c, const struct probe_row *row)
{
	return row->hash == c->chosen ? GP_GROUP_marker : row->group;
}

static bool cost_row_protected(const struct cost *c, const struct probe_row *row)
{
	return c->protected >> row->role & 1;
}

/* Forgets what measurements have cost once no rank measures: the next one begins at 0. */
static void cost_measured_clear(struct cost *c)
{
	uint64_t pid;

	for (size_t i = 0; table_next(c->measured, &i, &pid);)
		free(table_take(c->measured, pid));
	c->measured_enough = false;
}

bool cost_protect(struct cost *c, uint64_t roles, uint32_t chosen)
{
	bool protect[BUDGET_UNITS + 1][GP_GROUP_measure + 1] = {{false}};
	const struct probe *p;

	if (roles == c->protected && chosen == c->chosen)
		return false;
	c->protected = roles;
	c->chosen = chosen;
	if (!(roles >> GP_ROLE_operation & 1))
		cost_measured_clear(c);
	/* Whole groups are protected, as a group is attached and detached as a whole. */
	for (size_t i = 0; (p = table_next(c->probes, &i, NULL));)
		protect[p->unit][p->row->group] |= cost_row_protected(c, p->row) ||
						   p->row->hash == chosen;
	for (uint32_t u = 0; u < c->units; u++) {
		budget_protect(c->budget, u, GP_GROUP_confirm, protect[u][GP_GROUP_confirm]);
		budget_protect(c->budget, u, GP_GROUP_bulk, protect[u][GP_GROUP_bulk]);
	}
	return true;
}

enum cost_state cost_row(const struct cost *c, const struct probe_row *row)
{
	const struct probe *p = table_get(c->probes, row->hash);
	unsigned group = cost_row_group(c, row);
	enum budget_level level = p ? budget_level(c->budget, p->unit) : BUDGET_ALL;

	if (row->group == GP_GROUP_measure && cost_row_protected(c, row))
		return c->measured_enough ? COST_DETACHED : COST_SENT;
	if (row->group == GP_GROUP_measure)
		return COST_IDLE;
	if (group == GP_GROUP_bulk && level >= BUDGET_NO_BULK && !cost_row_protected(c, row))
		return COST_DETACHED;
	if (group == GP_GROUP_confirm && level >= BUDGET_NO_CONFIRM)
		return COST_DETACHED;
	if (group == GP_GROUP_confirm && !row->count && level >= BUDGET_COUNT &&
	    !cost_row_protected(c, row))
		return COST_COUNTED;
	return COST_SENT;
}

/* ---- one second ------------------------------------------------------------------------------ */

/* number of entries in the cache of cost_is_watched(); a process has entry pid % ASKED */
#define ASKED 256

/* Arguments of cost_second(), and a cache of the answers of watched() */
struct second {
	struct cost *cost;
	bool (*watched)(void *ctx, pid_t pid);
	cost_fn *fn;
	void *ctx;
	bool enough; /* measuring has now cost a process as much as it may */
	struct {
		uint32_t pid; /* 0: none */
		bool watched;
	} asked[ASKED];
};

/* Returns true if the process is watched. Caches the answer, because a process has many rows, and
 * each query is a system call. */
static bool cost_is_watched(struct second *s, uint32_t pid)
{
	uint32_t at = pid % ASKED;

	if (s->asked[at].pid != pid) {
		s->asked[at].watched = s->watched(s->ctx, (pid_t)pid);
		s->asked[at].pid = pid;
	}
	return s->asked[at].watched;
}

static double cost_percent(uint64_t ns)
{
	return (double)ns / 1e7; /* 100 * ns / 1e9 */
}

/* Adds cost of measuring to a process. Without memory it is not counted. */
static void cost_measured_add(struct second *s, uint32_t pid, uint64_t cost_ns)
{
	struct cost *c = s->cost;
	uint64_t *sum = table_get(c->measured, pid);

	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		if (!sum || table_put(c->measured, pid, sum)) {
			free(sum);
			return;
		}
	}
	*sum += cost_ns;
	if (!c->limit_ns || c->measured_enough || *sum <= c->limit_ns * COST_MEASURE_SECONDS)
		return;
	c->measured_enough = s->enough = true;
	log_info(
		"overhead: counting floating-point operations in process %u has cost %.0f ms, as much as the budget of %.3g %% allows for ten minutes: the probes that count them are detached; steps are still observed",
		pid, (double)*sum / 1e6, cost_percent(c->limit_ns));
}

static void cost_on_hits(void *ctx, uint32_t pid, uint32_t probe, uint64_t sent, uint64_t counted)
{
	struct second *s = ctx;
	const struct probe *p = table_get(s->cost->probes, probe);
	enum budget_hits hits;
	unsigned group;

	if (!p || !p->hit_ns || !cost_is_watched(s, pid))
		return;
	if (p->row->group == GP_GROUP_measure) {
		cost_measured_add(s, pid, (sent + counted) * p->hit_ns);
		return;
	}
	hits = cost_row_protected(s->cost, p->row) ? BUDGET_KEPT : BUDGET_SENT;
	group = cost_row_group(s->cost, p->row);
	if (sent)
		budget_add(s->cost->budget, pid, p->unit, group, sent * p->hit_ns, hits);
	hits = hits == BUDGET_KEPT ? hits : BUDGET_COUNTED;
	if (counted)
		budget_add(s->cost->budget, pid, p->unit, group, counted * p->hit_ns, hits);
}

static void cost_on_change(void *ctx, const struct budget_change *change)
{
	static const char *const down[] = {"", "bulk are detached", "confirm are counted, not sent",
					   "confirm are detached"};
	static const char *const up[] = {"", "bulk are attached", "confirm are sent",
					 "confirm are attached"};
	const struct second *s = ctx;
	const char *runtime;

	if (change->what == BUDGET_MARKER) {
		log_info(
			"overhead: the probes that find the steps of process %u cost %.3f %% of its time, over the budget of %.3g %%; they stay attached",
			change->pid, cost_percent(change->cost_ns),
			cost_percent(s->cost->limit_ns));
		return;
	}
	runtime = s->cost->unit[change->unit];
	if (change->what == BUDGET_GIVEN_UP)
		log_warn(
			"overhead: probes other than those that find steps cost %.3f %% of the time of process %u (budget %.3g %%): probes of %s in group %s",
			cost_percent(change->cost_ns), change->pid, cost_percent(s->cost->limit_ns),
			runtime, down[change->to]);
	else
		log_warn("overhead: within the budget again: probes of %s in group %s again",
			 runtime, up[change->from]);
	s->fn(s->ctx);
}

void cost_second(struct cost *c, uint64_t now_ns, bool (*watched)(void *ctx, pid_t pid),
		 cost_fn *fn, void *ctx)
{
	struct second s = {.cost = c, .watched = watched, .fn = fn, .ctx = ctx};
	uint64_t elapsed_ns = c->second_ns ? now_ns - c->second_ns : 0;

	c->second_ns = now_ns;
	tally_take(c->tally, cost_on_hits, &s);
	if (s.enough)
		fn(ctx);
	budget_second(c->budget, elapsed_ns, cost_on_change, &s);
}
