/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/open_call.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1024

struct open_calls {
	struct open_call reported[OPEN_CALLS_MAX];
	uint32_t count;
	uint64_t keys[BATCH];
	struct gp_open_call values[BATCH];
};

struct open_calls *open_calls_new(void)
{
	return calloc(1, sizeof(struct open_calls));
}

void open_calls_free(struct open_calls *o)
{
	free(o);
}

static bool open_call_before(const struct open_call *x, const struct open_call *y)
{
	return x->may_block != y->may_block ? x->may_block : x->since_ns < y->since_ns;
}

/* Inserts a call into the list: calls that may block come first, then the oldest. If the list is
 * full, its last call is dropped. */
static void open_call_keep(struct open_calls *o, const struct open_call *c)
{
	uint32_t at = OPEN_CALLS_MAX - 1;

	if (o->count < OPEN_CALLS_MAX)
		at = o->count++;
	else if (!open_call_before(c, &o->reported[at]))
		return;
	for (; at && open_call_before(c, &o->reported[at - 1]); at--)
		o->reported[at] = o->reported[at - 1];
	o->reported[at] = *c;
}

static void open_call_consider(struct open_calls *o, uint64_t key, const struct gp_open_call *call,
			       const struct gp_row *rows, uint64_t before_ns)
{
	const uint32_t row = (uint32_t)key;
	struct open_call c = {
		.since_ns = call->ts_ns,
		.probe = call->probe,
		.pid = (pid_t)call->pid,
		.tid = (pid_t)(key >> 32),
		.may_block = row < GP_ROWS_MAX && rows[row].flags & GP_ROW_MAY_BLOCK,
	};

	if (!call->ts_ns || call->ts_ns >= before_ns)
		return;
	memcpy(c.arg, call->arg, sizeof(c.arg));
	open_call_keep(o, &c);
}

/* Batch lookups (Linux 5.6) are available on all supported kernels, because cookies of uprobes,
 * which are required, are newer. The number of iterations is bounded, as entries may be added and
 * removed meanwhile. */
static int open_call_walk(struct open_calls *o, int map_fd, const struct gp_row *rows,
			  uint64_t before_ns)
{
	uint64_t position = 0;
	void *from = NULL;
	uint32_t n, seen = 0;
	int err;

	do {
		n = BATCH;
		err = bpf_map_lookup_batch(map_fd, from, &position, o->keys, o->values, &n, NULL);
		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < n; i++)
			open_call_consider(o, o->keys[i], &o->values[i], rows, before_ns);
		seen += n;
		from = &position;
	} while (!err && seen < 2 * GP_OPEN_MAX);
	return 0;
}

int open_calls_walk(struct open_calls *o, int map_fd, const struct gp_row *rows, uint64_t before_ns,
		    const struct open_call **ret)
{
	int err;

	o->count = 0;
	err = open_call_walk(o, map_fd, rows, before_ns);
	if (err)
		return err;
	*ret = o->reported;
	return (int)o->count;
}
