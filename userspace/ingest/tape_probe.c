/* SPDX-License-Identifier: Apache-2.0 */
/* tape_probe.c - sets the flags of probes on old tapes, which lack some flags. The gp-bpf versions
 * that wrote these tapes derived these flags from the runtime's name. Do not add runtimes here: new
 * tapes have all flags, from the probe files. */
#include "userspace/ingest/tape_probe.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	const char *runtime;
	/* flags: for every probe of the runtime; execute_flags: also for probes with role
	 * execute */
	unsigned flags;
	unsigned execute_flags;
} tape_probe_runtimes[] = {
	{"nccl", GP_PROBE_RANKS, 0},
	{"pjrt", GP_PROBE_TABLE, GP_PROBE_OBJECT},
	{"jax", 0, GP_PROBE_OBJECT},
};

static bool tape_probe_pair(const struct gp_probe *p)
{
	const char *dot = strrchr(p->id, '.');

	return dot && (!strcmp(dot, ".send") || !strcmp(dot, ".recv"));
}

void tape_probe_complete(struct gp_probe *p)
{
	size_t n = sizeof(tape_probe_runtimes) / sizeof(tape_probe_runtimes[0]);

	if (p->flags & GP_PROBE_WHOLE)
		return;
	if (tape_probe_pair(p))
		p->flags |= GP_PROBE_PAIR;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(p->runtime, tape_probe_runtimes[i].runtime) != 0)
			continue;
		p->flags |= tape_probe_runtimes[i].flags;
		if (p->role == GP_ROLE_execute)
			p->flags |= tape_probe_runtimes[i].execute_flags;
	}
}
