/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "loader/budget/rate.h"
#include "userspace/base/clock.h"
#include "userspace/base/table.h"

#define NAME_OLD_NS 2000000000ull /* its second is over, whatever the row's is */
#define SWEEP_NS                                                                                   \
	5000000000ull	 /* at its bound a process uses 5 x max_hz names between two sweeps        \
			  */
#define BATCH	     512 /* entries a system call; a bucket never holds so many */
#define HASHED_TWICE 4	 /* more than its size, of a table that changes while it is read */

struct told { /* of one (process, row) */
	uint64_t unsent, committed;
	uint64_t round; /* of the last sample that met it */
};

struct rates {
	const struct kernel *kernel;
	const struct rows *rows;
	struct table *told;
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

/* Calls each() for every batch of a hash map; r->keys and r->values hold it. */
static void rates_each_batch(struct rates *r, int fd, uint32_t max,
			     void (*each)(struct rates *r, uint32_t n, void *arg), void *arg)
{
	uint32_t cursor = 0, n, total = 0;
	void *in = NULL;
	int err = 0;

	while (!err && total < HASHED_TWICE * max) {
		n = BATCH;
		err = bpf_map_lookup_batch(fd, in, &cursor, &r->keys, &r->values, &n, NULL);
		if (err && err != -ENOENT) /* that is the end of the map */
			return;
		each(r, n, arg);
		total += n;
		in = &cursor;
	}
}

/* ---- what was not sent ----------------------------------------------------------------------- */

struct telling {
	loader_count_fn *count;
	void *ctx;
};

static void rate_tell(const struct rates *r, const struct telling *to,
		      const struct gp_rate_key *key, uint64_t told, uint64_t total)
{
	uint32_t ends, probe = rows_probe(r->rows, key->row, &ends);
	const struct gp_counter unsent = {
		.count = total - told, .total = total, .slot = GP_SLOT_NONE, .row = key->row};

	if (probe)
		to->count(to->ctx, (pid_t)key->tgid, probe, &unsent);
	if (ends)
		to->count(to->ctx, (pid_t)key->tgid, ends, &unsent);
}

static struct told *rates_told_get(struct rates *r, uint64_t id)
{
	struct told *told = table_get(r->told, id);

	if (told)
		return told;
	told = calloc(1, sizeof(*told));
	if (told && !table_put(r->told, id, told))
		return told;
	free(told);
	return NULL;
}

static void rates_told_forget(struct rates *r, uint64_t id)
{
	struct gp_rate_key key = {.row = (uint32_t)(id >> 32), .tgid = (uint32_t)id};

	bpf_map_delete_elem(r->kernel->unsent_told_fd, &key);
	free(table_take(r->told, id));
}

static void rate_read(struct rates *r, const struct telling *to, const struct gp_rate_key *key,
		      const struct gp_rate *rate)
{
	uint64_t id = (uint64_t)key->row << 32 | key->tgid;
	struct told *told = rate->unsent ? rates_told_get(r, id) : table_get(r->told, id);

	if (!told)
		return;
	if (rate->unsent < told->unsent) /* the kernel's entry was given away and made again */
		told->unsent = 0;
	if (rate->unsent != told->unsent)
		rate_tell(r, to, key, told->unsent, rate->unsent);
	told->unsent = rate->unsent;
	told->round = r->round;
}

static void rates_each(struct rates *r, uint32_t n, void *arg)
{
	for (uint32_t i = 0; i < n; i++)
		rate_read(r, arg, &r->keys.rate[i], &r->values.rate[i]);
}

static void rates_read(struct rates *r, struct telling to)
{
	struct told *told;
	uint64_t id;

	r->round++;
	rates_each_batch(r, r->kernel->rates_fd, GP_RATES_MAX, rates_each, &to);
	for (size_t i = 0; (told = table_next(r->told, &i, &id));)
		if (told->round != r->round)
			rates_told_forget(r, id);
}

void rates_sample_process(struct rates *r, pid_t pid, loader_count_fn *count, void *ctx)
{
	struct gp_rate_key key = {.tgid = (uint32_t)pid};
	struct telling to = {count, ctx};
	struct gp_rate rate;

	for (size_t place = 0; rows_next_bounded(r->rows, &place); place++) {
		key.row = (uint32_t)place;
		if (!bpf_map_lookup_elem(r->kernel->rates_fd, &key, &rate))
			rate_read(r, &to, &key, &rate);
	}
}

void rates_forget(struct rates *r, pid_t pid)
{
	struct gp_rate_key key = {.tgid = (uint32_t)pid};

	for (size_t place = 0; rows_next_bounded(r->rows, &place); place++) {
		key.row = (uint32_t)place;
		bpf_map_delete_elem(r->kernel->rates_fd, &key);
		rates_told_forget(r, (uint64_t)place << 32 | key.tgid);
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
	struct told *told;
	uint64_t id;

	for (size_t i = 0; (told = table_next(r->told, &i, &id));) {
		struct gp_rate_key key = {.row = (uint32_t)(id >> 32), .tgid = (uint32_t)id};

		if (told->committed != told->unsent &&
		    !bpf_map_update_elem(r->kernel->unsent_told_fd, &key, &told->unsent, BPF_ANY))
			told->committed = told->unsent;
	}
}

void rates_resume(struct rates *r, pid_t pid, const struct gp_counter *last)
{
	struct told *told = rates_told_get(r, (uint64_t)last->row << 32 | (uint32_t)pid);

	if (told)
		told->unsent = last->total;
}

static void rates_told_load(struct rates *r)
{
	struct gp_rate_key key, *at = NULL;
	struct told *told;
	uint64_t unsent;

	while (r->kernel->adopted && !bpf_map_get_next_key(r->kernel->unsent_told_fd, at, &key)) {
		at = &key;
		told = rates_told_get(r, (uint64_t)key.row << 32 | key.tgid);
		if (told && !bpf_map_lookup_elem(r->kernel->unsent_told_fd, &key, &unsent))
			told->unsent = told->committed = unsent;
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
	r->told = table_new();
	if (!r->told) {
		free(r);
		return -ENOMEM;
	}
	rates_told_load(r);
	*ret = r;
	return 0;
}

void rates_free(struct rates *r)
{
	if (!r)
		return;
	table_free(r->told, free);
	free(r);
}

void rates_sample(struct rates *r, loader_count_fn *count, void *ctx)
{
	rates_read(r, (struct telling){count, ctx});
	rates_names_sweep(r);
}
