/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/accelerator_time.h"

#include <string.h>

#include "userspace/store/store_private.h"

/* The end of a rank and the disruption caused by it are taken from two snapshots, so their UTC
 * times may differ by up to this (ns). */
#define SLACK_NS 1000000000ll

/* Time that is known only for the whole job (outages and lost progress). It counts for the
 * accelerators of all ranks. */
struct shared {
	int64_t recovery_ns, wasted_ns;
};

struct accelerator_time {
	struct store *st;
	const struct store_job *job;
	const struct store_span *span;
	uint32_t each;
	/* the run that is being read: its number of accelerators, its attempt, its row id */
	uint32_t run, attempt;
	int64_t run_id;
	/* shared time of the job that has not been counted for any accelerators yet */
	struct shared left;
	/* Shared time of the previous run's disruptions. It counts only if the next run is on this
	 * node, too. */
	struct shared disrupted;
	int64_t down_ns; /* UTC, when the job went down; 0: it is not down */
	double ns[BUCKET_COUNT];
};

static int64_t accelerator_lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void accelerator_move(struct accelerator_time *w, struct shared of)
{
	double lost_ns;

	of.recovery_ns = accelerator_lesser(of.recovery_ns, w->left.recovery_ns);
	of.wasted_ns = accelerator_lesser(of.wasted_ns, w->left.wasted_ns);
	if (of.recovery_ns > 0) {
		w->left.recovery_ns -= of.recovery_ns;
		w->ns[BUCKET_RECOVERY] += (double)of.recovery_ns * w->run;
	}
	if (of.wasted_ns > 0) {
		w->left.wasted_ns -= of.wasted_ns;
		lost_ns = (double)of.wasted_ns * w->run;
		if (lost_ns > w->ns[BUCKET_GOODPUT])
			lost_ns = w->ns[BUCKET_GOODPUT];
		w->ns[BUCKET_GOODPUT] -= lost_ns;
		w->ns[BUCKET_WASTED] += lost_ns;
	}
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int accelerator_take_rank(void *ctx, const struct store_rank *r)
{
	struct accelerator_time *w = ctx;
	uint32_t n = w->each ? w->each : r->accelerators;
	struct store_totals t;
	int err;

	if (!n)
		return 0;
	err = store_rank_totals(w->st, r->id, w->span, true, &t);
	if (err)
		return err;
	w->run += n;
	/* All slots after the known buckets (types of custom events, buckets of other gp-bpf
	 * versions) count as BUCKET_CUSTOM. */
	for (int i = 0; i < SUMS_SLOTS; i++)
		w->ns[i < BUCKET_COUNT ? i : BUCKET_CUSTOM] += (double)t.sums.ns[i] * n;
	/* The ledgers of imported ranks already contain a part of the shared time, so subtract that
	 * part here. The ledgers of observed ranks contain no shared time. */
	w->left.recovery_ns -= t.sums.ns[BUCKET_RECOVERY];
	w->left.wasted_ns -= t.sums.ns[BUCKET_WASTED];
	return 0;
}

/* ---- disruptions of a job with runs on other nodes, too -------------------------------------- */

/* Counts a disruption of the run that is being read, if the first rank that failed was one of this
 * node: only then are its consequences in this store. */
static int accelerator_take_disruption(void *ctx, const struct disruption_row *d)
{
	struct accelerator_time *w = ctx;
	int64_t here;
	int err = store_number(
		w->st, &here,
		"SELECT count(*) FROM ranks WHERE run = ? AND pid = ? AND start_ns < ? AND"
		" coalesce(end_ns, until_ns) >= ?",
		"iiii", w->run_id, (int64_t)d->pid, d->at_ns, d->at_ns - SLACK_NS);

	if (err || !here || !d->pid)
		return err;
	w->down_ns = d->over ? 0 : d->at_ns;
	if (w->down_ns || d->resumed_ns < w->span->from_ns ||
	    (w->span->to_ns && d->resumed_ns >= w->span->to_ns))
		return 0;
	w->disrupted.recovery_ns += d->down_ns == STORE_NONE ? 0 : d->down_ns;
	w->disrupted.wasted_ns += d->wasted_ns == STORE_NONE ? 0 : d->wasted_ns;
	return 0;
}

/* Ends the time in which the job is down at to_ns (start of the next run, or when the job was last
 * seen). Counts the shared time since the disruption. */
static void accelerator_settle(struct accelerator_time *w, int64_t to_ns)
{
	if (w->down_ns && to_ns > w->down_ns)
		w->disrupted.recovery_ns += to_ns - w->down_ns;
	accelerator_move(w, w->disrupted);
}

static int accelerator_take_run(void *ctx, const struct store_run *r)
{
	const struct store_span own = {r->start_ns, r->last_ns + SLACK_NS};
	struct accelerator_time *w = ctx;
	int err;

	if (w->job->carried && r->attempt == w->attempt + 1)
		accelerator_settle(w, r->start_ns);
	w->disrupted = (struct shared){0};
	w->down_ns = w->run = 0;
	w->run_id = r->id;
	w->attempt = r->attempt;
	err = store_ranks(w->st, r->id, accelerator_take_rank, w);
	if (!err && w->job->carried)
		err = store_disruptions(w->st, w->job->id, &own, accelerator_take_disruption, w);
	return err;
}

/* ---- the sum --------------------------------------------------------------------------------- */

int store_accelerator_time(struct store *st, const struct store_job *job,
			   const struct store_span *span, const struct sums *sums, uint32_t each,
			   double ret_ns[BUCKET_COUNT])
{
	struct accelerator_time w = {
		.st = st,
		.job = job,
		.span = span,
		.each = each,
		.left = {sums->ns[BUCKET_RECOVERY], sums->ns[BUCKET_WASTED]},
	};
	int err = store_runs(st, job->id, accelerator_take_run, &w);

	if (err)
		return err;
	if (!job->carried)
		accelerator_move(&w, w.left);
	else if (w.down_ns && !strcmp(job->state, "down")) {
		/* Count only the down time of the job. The store of another node counts what else
		 * the disruption cost. */
		w.disrupted = (struct shared){0};
		accelerator_settle(&w, job->last_ns);
	}
	memcpy(ret_ns, w.ns, sizeof(w.ns));
	return 0;
}
