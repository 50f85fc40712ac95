/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "loader/budget/rate.h"
#include "userspace/base/clock.h"
#include "userspace/base/table.h"

/* A name in the kernel's table whose last second of hits began longer ago than this is removed */
#define NAME_OLD_NS 2000000000ull
/* Time between two removals of unused names. In this time, a process at its limit adds 5 x max_hz
 * names. */
#define SWEEP_NS 5000000000ull
#define BATCH	 512 /* entries per system call; more than any bucket of the map contains */
/* A walk over a map ends at the latest after this many times the map's size, because entries are
 * added and removed during the walk. */
#define HASHED_TWICE 4

struct reported { /* unsent hits of one process and row: as last reported, and as last committed */
	uint64_t unsent, committed;
	uint64_t round; /* number of the last sample that found this process and row in the map */
};

struct rates {
	const struct kernel *kernel;
	const struct rows *rows;
	struct table *reported;
	uint64_t round, swept_ns;
	union {
		struct gp_rate_key rate[BATCH];
		struct gp_name_key name[BATCH];
	} keys;
	union {
		struct gp_rate rate[BATCH];
		struct gp_name name[BATCH];
	} values;
	struct gp_name_key old[GP_NAMES_MAX];
};

/* Reads a hash map in batches, and calls each() for every batch, which is in r->keys and
 * r->values. */
static void rates_each_batch(struct rates *r, int fd, uint32_t max,
			     void (*each)(struct rates *r, uint32_t n, void *arg), void *arg)
{
	uint32_t cursor = 0, n, total = 0;
	void *in = NULL;
	int err = 0;

	while (!err && total < HASHED_TWICE * max) {
		n = BATCH;
		err = bpf_map_lookup_batch(fd, in, &cursor, &r->keys, &r->values, &n, NULL);
		if (err && err != -ENOENT) /* -ENOENT: end of the map */
			return;
		each(r, n, arg);
		total += n;
		in = &cursor;
	}
}

/* ---- hits that were not sent ----------------------------------------------------------------- */

struct report {
	loader_count_fn *count;
	void *ctx;
};

static void rate_report(const struct rates *r, const struct report *to,
			const struct gp_rate_key *key, uint64_t reported, uint64_t total)
{
	uint32_t ends, probe = rows_probe(r->rows, key->row, &ends);
	const struct gp_counter unsent = {
		.count = total - reported, .total = total, .slot = GP_SLOT_NONE, .row = key->row};

	if (probe)
		to->count(to->ctx, (pid_t)key->tgid, probe, &unsent);
	if (ends)
		to->count(to->ctx, (pid_t)key->tgid, ends, &unsent);
}

static struct reported *rates_reported_get(struct rates *r, uint64_t id)
{
	struct reported *reported = table_get(r->reported, id);

	if (reported)
		return reported;
	reported = calloc(1, sizeof(*reported));
	if (reported && !table_put(r->reported, id, reported))
		return reported;
	free(reported);
	return NULL;
}

static void rates_reported_forget(struct rates *r, uint64_t id)
{
	struct gp_rate_key key = {.row = (uint32_t)(id >> 32), .tgid = (uint32_t)id};

	bpf_map_delete_elem(r->kernel->unsent_saved_fd, &key);
	free(table_take(r->reported, id));
}

static void rate_read(struct rates *r, const struct report *to, const struct gp_rate_key *key,
		      const struct gp_rate *rate)
{
	uint64_t id = (uint64_t)key->row << 32 | key->tgid;
	struct reported *reported = rate->unsent ? rates_reported_get(r, id)
						 : table_get(r->reported, id);

	if (!reported)
		return;
	if (rate->unsent < reported->unsent) /* the kernel evicted the entry and created it again */
		reported->unsent = 0;
	if (rate->unsent != reported->unsent)
		rate_report(r, to, key, reported->unsent, rate->unsent);
	reported->unsent = rate->unsent;
	reported->round = r->round;
}

static void rates_each(struct rates *r, uint32_t n, void *arg)
{
	for (uint32_t i = 0; i < n; i++)
		rate_read(r, arg, &r->keys.rate[i], &r->values.rate[i]);
}

static void rates_read(struct rates *r, struct report to)
{
	struct reported *reported;
	uint64_t id;

	r->round++;
	rates_each_batch(r, r->kernel->rates_fd, GP_RATES_MAX, rates_each, &to);
	for (size_t i = 0; (reported = table_next(r->reported, &i, &id));)
		if (reported->round != r->round)
			rates_reported_forget(r, id);
}

void rates_sample_process(struct rates *r, pid_t pid, loader_count_fn *count, void *ctx)
{
	struct gp_rate_key key = {.tgid = (uint32_t)pid};
	struct report to = {count, ctx};
	struct gp_rate rate;

	for (size_t at = 0; rows_next_bounded(r->rows, &at); at++) {
		key.row = (uint32_t)at;
		if (!bpf_map_lookup_elem(r->kernel->rates_fd, &key, &rate))
			rate_read(r, &to, &key, &rate);
	}
}

void rates_forget(struct rates *r, pid_t pid)
{
	struct gp_rate_key key = {.tgid = (uint32_t)pid};

	for (size_t at = 0; rows_next_bounded(r->rows, &at); at++) {
		key.row = (uint32_t)at;
		bpf_map_delete_elem(r->kernel->rates_fd, &key);
		rates_reported_forget(r, (uint64_t)at << 32 | key.tgid);
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

struct sweep {
	uint64_t now_ns;
	size_t n;
};

static void rates_names_each(struct rates *r, uint32_t n, void *arg)
{
	struct sweep *s = arg;

	for (uint32_t i = 0; i < n && s->n < GP_NAMES_MAX; i++)
		if (r->values.name[i].start_ns + NAME_OLD_NS < s->now_ns)
			r->old[s->n++] = r->keys.name[i];
}

static void rates_names_sweep(struct rates *r)
{
	struct sweep s = {.now_ns = clock_mono_ns()};

	if (s.now_ns - r->swept_ns < SWEEP_NS)
		return;
	r->swept_ns = s.now_ns;
	rates_each_batch(r, r->kernel->names_fd, GP_NAMES_MAX, rates_names_each, &s);
	for (size_t i = 0; i < s.n; i++)
		bpf_map_delete_elem(r->kernel->names_fd, &r->old[i]);
}

/* ---- for a successor ------------------------------------------------------------------------- */

void rates_commit(struct rates *r)
{
	struct reported *reported;
	uint64_t id;

	for (size_t i = 0; (reported = table_next(r->reported, &i, &id));) {
		struct gp_rate_key key = {.row = (uint32_t)(id >> 32), .tgid = (uint32_t)id};

		if (reported->committed != reported->unsent &&
		    !bpf_map_update_elem(r->kernel->unsent_saved_fd, &key, &reported->unsent,
					 BPF_ANY))
			reported->committed = reported->unsent;
	}
}

void rates_resume(struct rates *r, pid_t pid, const struct gp_counter *last)
{
	struct reported *reported = rates_reported_get(r,
						       (uint64_t)last->row << 32 | (uint32_t)pid);

	if (reported)
		reported->unsent = last->total;
}

static void rates_reported_load(struct rates *r)
{
	struct gp_rate_key key, *at = NULL;
	struct reported *reported;
	uint64_t unsent;

	while (r->kernel->adopted && !bpf_map_get_next_key(r->kernel->unsent_saved_fd, at, &key)) {
		at = &key;
		reported = rates_reported_get(r, (uint64_t)key.row << 32 | key.tgid);
		if (reported && !bpf_map_lookup_elem(r->kernel->unsent_saved_fd, &key, &unsent))
			reported->unsent = reported->committed = unsent;
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

int rates_new(struct rates **ret, const struct kernel *k, const struct rows *rows)
{
	struct rates *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->kernel = k;
	r->rows = rows;
	r->reported = table_new();
	if (!r->reported) {
		free(r);
		return -ENOMEM;
	}
	rates_reported_load(r);
	*ret = r;
	return 0;
}

void rates_free(struct rates *r)
{
	if (!r)
		return;
	table_free(r->reported, free);
	free(r);
}

void rates_sample(struct rates *r, loader_count_fn *count, void *ctx)
{
	rates_read(r, (struct report){count, ctx});
	rates_names_sweep(r);
}
