/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/worth.h"

#include <errno.h>
#include <string.h>

struct worth {
	struct store *st;
	const struct store_span *span;
	uint32_t each;
	uint32_t run; /* accelerators of the run that is read, of the last one in the end */
	double ns[BUCKET_COUNT];
};

static int take_rank(void *ctx, const struct store_rank *r)
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
	return 0;
}

static int take_run(void *ctx, const struct store_run *r)
{
	struct worth *w = ctx;

	w->run = 0;
	return store_ranks(w->st, r->id, take_rank, w);
}

int store_worth(struct store *st, int64_t job, const struct store_span *span, const struct sums *sums,
		uint32_t each, double ret_ns[BUCKET_COUNT])
{
	struct worth w = {.st = st, .span = span, .each = each};
	int err = store_runs(st, job, take_run, &w);
	double lost_ns;

	if (err)
		return err;
	/* No rank's ledger has these two. */
	w.ns[BUCKET_RECOVERY] += (double)sums->ns[BUCKET_RECOVERY] * w.run;
	lost_ns = (double)sums->ns[BUCKET_WASTED] * w.run;
	if (lost_ns > w.ns[BUCKET_GOODPUT])
		lost_ns = w.ns[BUCKET_GOODPUT];
	w.ns[BUCKET_GOODPUT] -= lost_ns;
	w.ns[BUCKET_WASTED] += lost_ns;
	memcpy(ret_ns, w.ns, sizeof(w.ns));
	return 0;
}
