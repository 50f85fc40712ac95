/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/worth.h"

#include <string.h>

#include "userspace/store/store_private.h"

/* Difference in UTC between a rank's end and its disruption, as two snapshots give it. */
#define SLACK_NS 1000000000ll

/* Time of the job that its ranks share. */
struct owed {
	int64_t recovery_ns, wasted_ns;
};

struct worth {
	struct store *st;
	const struct store_job *job;
	const struct store_span *span;
	uint32_t each;
	uint32_t run,
		attempt; /* of the run that is read, finally of the last one: its accelerators */
	int64_t run_id;
	struct owed left; /* of the job's sums: the part that its ranks do not have yet */
	/* cost of the previous run's disruption, used if the next run is here, too */
	struct owed disrupted;
	int64_t down_ns; /* since when the job is down; 0: it is not */
	double ns[BUCKET_COUNT];
};

static int64_t worth_lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void worth_move(struct worth *w, struct owed of)
{
	double lost_ns;

	of.recovery_ns = worth_lesser(of.recovery_ns, w->left.recovery_ns);
	of.wasted_ns = worth_lesser(of.wasted_ns, w->left.wasted_ns);
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

static int worth_take_rank(void *ctx, const struct store_rank *r)
{
	struct worth *w = ctx;
	uint32_t n = w->each ? w->each : r->accelerators;
	struct store_totals t;
	int err;

	if (!n)
		return 0;
	err = store_rank_totals(w->st, r->id, w->span, true, &t);
	if (err)
		return err;
	w->run += n;
	for (int i = 0; i < SUMS_SLOTS; i++) /* types, and names of another version */
		w->ns[i < BUCKET_COUNT ? i : BUCKET_CUSTOM] += (double)t.sums.ns[i] * n;
	/* Observed ranks have none of it; imported ones already include what was moved. */
	w->left.recovery_ns -= t.sums.ns[BUCKET_RECOVERY];
	w->left.wasted_ns -= t.sums.ns[BUCKET_WASTED];
	return 0;
}

/* ---- disruptions of a job with runs on other nodes, too -------------------------------------- */

/* A rank of this node's run failed first, so the consequences belong to this node. */
static int worth_take_disruption(void *ctx, const struct store_disruption *d)
{
	struct worth *w = ctx;
	int64_t here;
	int err = store_number(
		w->st, &here,
		"SELECT count(*) FROM ranks WHERE run = ? AND pid = ? AND start_ns < ? AND"
		" coalesce(end_ns, until_ns) >= ?",
		"iiii", w->run_id, (int64_t)d->pid, d->at_ns, d->at_ns - SLACK_NS);

	if (err || !here || !d->pid)
		return err;
	w->down_ns = d->resumed_ns == STORE_NONE ? d->at_ns : 0;
	if (w->down_ns || d->resumed_ns < w->span->from_ns ||
	    (w->span->to_ns && d->resumed_ns >= w->span->to_ns))
		return 0;
	w->disrupted.recovery_ns += d->down_ns == STORE_NONE ? 0 : d->down_ns;
	w->disrupted.wasted_ns += d->wasted_ns == STORE_NONE ? 0 : d->wasted_ns;
	return 0;
}

/* The job was down until to_ns: the start of the next run, or when it was last seen. */
static void worth_settle(struct worth *w, int64_t to_ns)
{
	if (w->down_ns && to_ns > w->down_ns)
		w->disrupted.recovery_ns += to_ns - w->down_ns;
	worth_move(w, w->disrupted);
}

static int worth_take_run(void *ctx, const struct store_run *r)
{
	const struct store_span own = {r->start_ns, r->last_ns + SLACK_NS};
	struct worth *w = ctx;
	int err;

	if (w->job->carried && r->attempt == w->attempt + 1)
		worth_settle(w, r->start_ns);
	w->disrupted = (struct owed){0};
	w->down_ns = w->run = 0;
	w->run_id = r->id;
	w->attempt = r->attempt;
	err = store_ranks(w->st, r->id, worth_take_rank, w);
	if (!err && w->job->carried)
		err = store_disruptions(w->st, w->job->id, &own, worth_take_disruption, w);
	return err;
}

/* ---- the sum --------------------------------------------------------------------------------- */

int store_worth(struct store *st, const struct store_job *job, const struct store_span *span,
		const struct sums *sums, uint32_t each, double ret_ns[BUCKET_COUNT])
{
	struct worth w = {
		.st = st,
		.job = job,
		.span = span,
		.each = each,
		.left = {sums->ns[BUCKET_RECOVERY], sums->ns[BUCKET_WASTED]},
	};
	int err = store_runs(st, job->id, worth_take_run, &w);

	if (err)
		return err;
	if (!job->carried)
		worth_move(&w, w.left);
	else if (w.down_ns && !strcmp(job->state, "down")) {
		w.disrupted = (struct owed){0}; /* the consequences are known by another node */
		worth_settle(&w, job->last_ns);
	}
	memcpy(ret_ns, w.ns, sizeof(w.ns));
	return 0;
}
