/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_blocked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/clock.h"
#include "userspace/identity/blocked_call.h"

#define CALL_MIN_NS 1000000000ull
/* Limit of the time for scans of silent processes in a second; the remaining processes are scanned
 * in the next second. */
#define SCANS_NS 100000000ull

struct blocked {
	struct loader *loader;
	const struct probe_table *probes;
	const char *root;
	struct blocked_calls *blocked_calls;
	struct journal *journal; /* receives the records made in the present tick */
	uint64_t deadline_ns;
	/* Indexes among the silent processes: the one being visited, the first one to scan in this
	 * tick, and the first one to scan in the next tick. */
	uint32_t at, from, next;
};

int blocked_new(struct blocked **ret, struct loader *l, const struct probe_table *probes,
		const char *root)
{
	const struct blocked_words words = {probe_table_threads(probes),
					    probe_table_devices(probes)};
	struct blocked *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*b = (struct blocked){.loader = l,
			      .probes = probes,
			      .root = root,
			      .blocked_calls = blocked_calls_new(&words)};
	if (!b->blocked_calls) {
		free(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void blocked_free(struct blocked *b)
{
	if (!b)
		return;
	blocked_calls_free(b->blocked_calls);
	free(b);
}

static struct gp_blocked *blocked_record(struct blocked *b, pid_t pid, pid_t tid, uint32_t probe)
{
	struct gp_blocked *own = journal_record(b->journal, GP_KIND_blocked, (uint32_t)pid, probe);

	if (own)
		((struct gp_rec *)own - 1)->tid = (uint32_t)tid;
	return own;
}

static void watch_blocked_on_open_call(void *ctx, const struct open_call *c)
{
	struct blocked *b = ctx;
	const struct probe_row *row = probe_table_row(b->probes,
						      probe_table_index(b->probes, c->probe));
	struct gp_blocked *own = blocked_record(b, c->pid, c->tid, c->probe);

	if (!own)
		return;
	*own = (struct gp_blocked){
		.since_ns = c->since_ns, .syscall = -1, .source = GP_BLOCKED_CALL};
	own->arg[0] = c->arg[0];
	own->arg[1] = c->arg[1];
	if (row)
		snprintf(own->where, sizeof(own->where), "%.60s of %.20s", row->symbol,
			 row->runtime);
}

static void watch_blocked_on_silent(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns)
{
	struct blocked *b = ctx;
	struct gp_blocked seen, *own;
	uint64_t now_ns = clock_mono_ns();
	pid_t scanned_tid;

	if (b->at++ < b->from)
		return;
	if (now_ns > b->deadline_ns)
		return;
	b->next = b->at;
	scanned_tid = blocked_calls_scan(b->blocked_calls, b->root, (pid_t)pid, (pid_t)tid, now_ns,
					 &seen);
	if (scanned_tid < 0)
		return;
	own = blocked_record(b, (pid_t)pid, scanned_tid, 0);
	if (!own)
		return;
	*own = seen;
	own->since_ns = since_ns;
}

void blocked_tick(struct blocked *b, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();

	b->journal = j;
	loader_open_calls(b->loader, now_ns, CALL_MIN_NS, watch_blocked_on_open_call, b);
	b->deadline_ns = now_ns + SCANS_NS;
	b->at = 0;
	output_silent(out, watch_blocked_on_silent, b);
	b->from = b->next < b->at ? b->next : 0;
	b->next = 0;
}
