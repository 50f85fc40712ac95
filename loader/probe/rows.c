/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/probe/rows.h"

/* First generation of rows whose hits are sent; hits of a row of generation 0 are ignored. */
#define GENERATION_FIRST 1
#define RUNTIMES_MAX	 32

/* An entry of gp_rows */
struct entry {
	size_t row;
	struct gp_row compiled; /* result of probe_row_compile() */
	bool unsent;		/* hits of this entry were counted instead of sent at least once */
};

/* The used entries of gp_rows */
struct rows {
	struct kernel *kernel;
	const struct probe_table *probes;
	struct entry entries[GP_ROWS_MAX];
	size_t count, returns, hot_count, ends_count;
	/* Generation number in the cookies of new links. Active rows have the same number, except
	 * while links are being replaced. */
	uint32_t generation;
	bool swapping, swapped;
	uint32_t hot_probe[GP_HOT_ROWS];
	const char *ends[RUNTIMES_MAX];
};

static void rows_hot_take_over(struct rows *r, const struct gp_row *kept)
{
	r->hot_probe[kept->hot] = kept->probe;
	if (r->hot_count <= kept->hot)
		r->hot_count = kept->hot + 1u;
}

/* Completes a replacement of links that the predecessor began and, because it was killed, did not
 * end. Hits count only if they come from links of the row's generation. If any row has the new
 * generation, all new links exist, so all rows get the new generation. */
static void rows_swap_take_over(struct rows *r)
{
	uint32_t newest = GENERATION_FIRST;

	for (size_t i = 0; i < r->count; i++)
		if (r->kernel->rows[i].gen > newest)
			newest = r->kernel->rows[i].gen;
	for (size_t i = 0; i < r->count; i++)
		if (r->kernel->rows[i].gen)
			__atomic_store_n(&r->kernel->rows[i].gen, newest, __ATOMIC_RELEASE);
	r->generation = newest;
	r->swapping = r->swapped = true; /* rows_swapped() resets these */
}

/* Sends the hits of a row again if the predecessor only counted them: the budget of this process
 * starts at its first level. */
static void rows_unsent_take_over(struct rows *r, size_t entry)
{
	struct entry *p = &r->entries[entry];

	p->unsent = p->compiled.flags & GP_ROW_UNSENT;
	p->compiled.flags &= (uint8_t)~GP_ROW_UNSENT;
	__atomic_store_n(&r->kernel->rows[entry].flags, p->compiled.flags, __ATOMIC_RELAXED);
}

static void rows_take_over(struct rows *r)
{
	for (size_t i = 0; i < GP_ROWS_MAX && r->kernel->rows[i].probe; i++) {
		const struct gp_row *kept = &r->kernel->rows[i];
		size_t row = probe_table_index(r->probes, kept->probe);

		if (row == probe_table_count(r->probes) || kept->hot >= GP_HOT_ROWS)
			/* SIZE_MAX: the predecessor was killed while it wrote this entry, so the
			 * entry stays unused. */
			row = SIZE_MAX;
		r->entries[r->count] = (struct entry){.row = row, .compiled = *kept};
		r->entries[r->count].compiled.gen = r->entries[r->count].compiled.next = 0;
		rows_unsent_take_over(r, r->count);
		r->count++;
		if (row != SIZE_MAX && kept->flags & GP_ROW_COUNT)
			rows_hot_take_over(r, kept);
	}
	while (r->returns < GP_RETURN_ROWS_MAX && r->kernel->return_rows[r->returns])
		r->returns++;
	rows_swap_take_over(r);
}

int rows_new(struct rows **ret, struct kernel *k, const struct probe_table *probes)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->kernel = k;
	r->probes = probes;
	r->generation = GENERATION_FIRST;
	if (k->adopted)
		rows_take_over(r);
	*ret = r;
	return 0;
}

void rows_free(struct rows *r)
{
	free(r);
}

uint32_t rows_hot_probe(const struct rows *r, size_t hot)
{
	return hot < r->hot_count ? r->hot_probe[hot] : 0;
}

bool rows_runtime_ends(const struct rows *r, const char *runtime)
{
	for (size_t i = 0; i < r->ends_count; i++)
		if (!strcmp(r->ends[i], runtime))
			return true;
	return false;
}

static bool row_waits(const struct rows *r, const struct probe_row *row)
{
	return row->role == GP_ROLE_range_begin && !row->anonymous && !row->count &&
	       !row->returns && !rows_runtime_ends(r, row->runtime);
}

/* Makes the hits of an entry valid, by writing its generation. Call after all other members are
 * written. */
static void row_activate(const struct rows *r, size_t entry)
{
	__atomic_store_n(&r->kernel->rows[entry].gen, r->generation, __ATOMIC_RELEASE);
}

void rows_swap_begin(struct rows *r)
{
	r->generation++;
	r->swapping = true;
	for (size_t i = 0; i < r->count; i++)
		__atomic_store_n(&r->kernel->rows[i].next, r->generation, __ATOMIC_RELEASE);
}

void rows_swap(struct rows *r)
{
	r->swapped = true;
	for (size_t i = 0; i < r->count; i++)
		if (r->kernel->rows[i].gen)
			row_activate(r, i);
}

void rows_swapped(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		__atomic_store_n(&r->kernel->rows[i].next, 0, __ATOMIC_RELEASE);
	/* If the replacement was aborted, return to the previous generation */
	r->generation -= r->swapping && !r->swapped;
	r->swapping = r->swapped = false;
}

void rows_runtime_set_ends(struct rows *r, const char *runtime)
{
	if (!rows_runtime_ends(r, runtime) && r->ends_count < RUNTIMES_MAX)
		r->ends[r->ends_count++] = runtime;
}

void rows_activate(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->entries[i].row != SIZE_MAX && !r->kernel->rows[i].gen &&
		    !row_waits(r, probe_table_row(r->probes, r->entries[i].row)))
			row_activate(r, i);
}

/* Assigns one of the GP_HOT_ROWS counters to a row whose hits are only counted. All entries of the
 * row share the counter. */
static int rows_hot_assign(struct rows *r, const struct probe_row *row, struct gp_row *compiled)
{
	size_t hot = 0;

	if (!row->count)
		return 0;
	while (hot < r->hot_count && r->hot_probe[hot] != row->hash)
		hot++;
	if (hot == GP_HOT_ROWS)
		return -ENOSPC;
	if (hot == r->hot_count)
		r->hot_probe[r->hot_count++] = row->hash;
	compiled->hot = (uint8_t)hot;
	return 0;
}

static bool rows_entry_is(const struct entry *p, size_t row, const struct gp_row *compiled)
{
	return p->row == row && memcmp(&p->compiled, compiled, sizeof(*compiled)) == 0;
}

int rows_entry_get(struct rows *r, size_t row, int pushed, uint64_t *ret_cookie)
{
	const struct probe_row *source = probe_table_row(r->probes, row);
	struct gp_row compiled = {0};
	size_t at = 0;
	int err = probe_row_compile(source, pushed, &compiled);

	if (!err)
		err = rows_hot_assign(r, source, &compiled);
	if (err)
		return err;
	compiled.gen = 0;
	while (at < r->count && !rows_entry_is(&r->entries[at], row, &compiled))
		at++;
	if (at == GP_ROWS_MAX ||
	    (at == r->count && source->returns && r->returns == GP_RETURN_ROWS_MAX))
		return -ENOSPC;
	if (at == r->count) {
		r->entries[r->count++] = (struct entry){.row = row, .compiled = compiled};
		compiled.next = r->swapping && !r->swapped ? r->generation : 0;
		r->kernel->rows[at] = compiled;
		if (source->returns)
			__atomic_store_n(&r->kernel->return_rows[r->returns++], at + 1,
					 __ATOMIC_RELEASE);
	}
	*ret_cookie = GP_COOKIE(at, r->generation);
	return 0;
}

static uint32_t row_ends(const struct rows *r, const struct probe_row *begin)
{
	if (begin->role != GP_ROLE_range_begin || begin->anonymous)
		return 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct probe_row *row;

		if (r->entries[i].row == SIZE_MAX)
			continue;
		row = probe_table_row(r->probes, r->entries[i].row);
		if (row->role == GP_ROLE_range_end && !strcmp(row->runtime, begin->runtime))
			return row->hash;
	}
	return 0;
}

uint32_t rows_probe(const struct rows *r, size_t entry, uint32_t *ret_ends)
{
	const struct probe_row *row;

	*ret_ends = 0;
	if (entry >= r->count || r->entries[entry].row == SIZE_MAX)
		return 0;
	row = probe_table_row(r->probes, r->entries[entry].row);
	*ret_ends = row_ends(r, row);
	return row->hash;
}

bool rows_next_bounded(const struct rows *r, size_t *entry)
{
	while (*entry < r->count && !r->entries[*entry].compiled.max_hz &&
	       !r->entries[*entry].unsent)
		++*entry;
	return *entry < r->count;
}

void rows_set_unsent(struct rows *r, size_t row, bool unsent)
{
	for (size_t i = 0; i < r->count; i++) {
		uint8_t flags = r->entries[i].compiled.flags | (unsent ? GP_ROW_UNSENT : 0);

		if (r->entries[i].row != row)
			continue;
		r->entries[i].unsent |= unsent;
		__atomic_store_n(&r->kernel->rows[i].flags, flags, __ATOMIC_RELAXED);
	}
}
