/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "loader/budget/tally.h"
#include "userspace/base/table.h"

/* Number of entries of the cache that is searched before the table of cells: most records belong to
 * a few processes and probes */
#define CACHE 256

/* Number of hits of one probe in one process */
struct cell {
	uint64_t sent, counted;
};

struct tally {
	struct table *cells; /* key: pid << 32 | probe */
	struct {
		uint64_t key;
		struct cell *cell;
	} cache[CACHE];
};

struct tally *tally_new(void)
{
	struct tally *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->cells = table_new();
	if (t->cells)
		return t;
	free(t);
	return NULL;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	table_free(t->cells, free);
	free(t);
}

static struct cell *tally_cell_make(struct tally *t, uint64_t key)
{
	struct cell *c = table_get(t->cells, key);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (c && !table_put(t->cells, key, c))
		return c;
	free(c);
	return NULL;
}

/* Returns NULL without memory: the caller then ignores the hit. */
static struct cell *tally_cell_find(struct tally *t, uint32_t pid, uint32_t probe)
{
	uint64_t key = (uint64_t)pid << 32 | probe;
	size_t at = (probe ^ pid) % CACHE;

	if (t->cache[at].key != key || !t->cache[at].cell) {
		t->cache[at].cell = tally_cell_make(t, key);
		t->cache[at].key = key;
	}
	return t->cache[at].cell;
}

void tally_records(struct tally *t, const void *records, size_t len)
{
	const struct gp_rec *r;
	struct cell *c;

	for (size_t at = 0; (r = gp_rec_next(records, len, &at));) {
		if (r->kind > GP_KIND_call && r->kind != GP_KIND_operation)
			continue;
		c = tally_cell_find(t, r->pid, r->probe);
		if (c)
			c->sent++;
	}
}

void tally_count(struct tally *t, uint32_t pid, uint32_t probe, uint64_t hits)
{
	struct cell *c = tally_cell_find(t, pid, probe);

	if (c)
		c->counted += hits;
}

void tally_take(struct tally *t, tally_fn *fn, void *ctx)
{
	struct cell *c;
	uint64_t key;

	memset(t->cache, 0, sizeof(t->cache));
	for (size_t i = 0; (c = table_next(t->cells, &i, &key));) {
		if (!c->sent && !c->counted) {
			free(table_take(t->cells, key));
			continue;
		}
		fn(ctx, (uint32_t)(key >> 32), (uint32_t)key, c->sent, c->counted);
		*c = (struct cell){0};
	}
}
