/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h - cost of observation by process: number of hits times the cost of a hit. Passes this cost
 * to the budget, and logs the budget's decisions; the caller carries them out. */
#ifndef LOADER_COST_H
#define LOADER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/budget/budget.h"
#include "loader/probe/probe_file.h"

/* A measurement (rows of group measure) may cost a process as much as the budget allows for this
 * number of seconds. */
#define COST_MEASURE_SECONDS 600

struct cost;

/* limit_ns, pause_ns: see budget_new(). probes: borrowed. Returns 0 or -errno. */
int cost_new(struct cost **ret, const struct probe_table *probes, uint64_t limit_ns,
	     uint64_t pause_ns);
void cost_free(struct cost *c);

/* Sets the hit cost (ns) of an attached probe. If the probe is attached several times, the highest
 * cost counts. */
void cost_set_hit(struct cost *c, uint32_t probe, uint32_t hit_ns);
/* Adds records read from a ring, and hits that were counted. */
void cost_records(struct cost *c, const void *records, size_t len);
void cost_count(struct cost *c, pid_t pid, uint32_t probe, uint64_t hits);
void cost_forget(struct cost *c, pid_t pid);
/* Protects the roles (bits 1ull << enum gp_role) by which steps are currently found: rows with
 * these roles stay attached, their hits are sent, and their cost counts as cost of the marker.
 * chosen: hash of the row that the user named for finding steps, 0: none. Returns true when results
 * of cost_row() may have changed. */
bool cost_protect(struct cost *c, uint64_t roles, uint32_t chosen);

/* Called when results of cost_row() have changed. */
typedef void cost_fn(void *ctx);
/* Call about once a second: logs a change, then calls fn. watched: returns whether a process still
 * exists, so that the last hits of ended ones are ignored. */
void cost_second(struct cost *c, uint64_t now_ns, bool (*watched)(void *ctx, pid_t pid),
		 cost_fn *fn, void *ctx);

/* COST_IDLE: detached, because the row is not needed now (group measure). */
enum cost_state { COST_SENT, COST_COUNTED, COST_DETACHED, COST_IDLE };
/* Returns how the hits of a row are to be handled now. Rows of group measure are sent while their
 * role is protected, until a measurement has cost a process too much; they are idle otherwise. */
enum cost_state cost_row(const struct cost *c, const struct probe_row *row);

#endif
