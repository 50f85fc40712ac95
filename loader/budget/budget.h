/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h - limits what observation costs a process, and decides which probes to remove when the
 * limit is exceeded.
 *
 * Pure: no system call, no clock; the caller ends each second by budget_second(). Probes are
 * removed by unit: a runtime, whose links are shared by all processes that use it, so the most
 * expensive process decides for all. Probes that find steps (group marker, and protected groups)
 * and rare necessary ones (group fault) are never removed and do not count against the limit; the
 * cost of the marker is reported instead.
 *
 * When a process is over the limit for some seconds, one unit goes one level down. This is repeated
 * as long as the process is over the limit. Group bulk (numbers of launches) is worth less than
 * group confirm (times at which the host waits), so it is removed first. After a pause a unit goes
 * one level up if the forecast is well below the limit. Probes whose hits are only counted are
 * still measured. Removed probes are assumed to be hit as often as before their removal, and half
 * as often after each pause. The pause doubles when a level that was raised has to be lowered again
 * soon. */
#ifndef LOADER_BUDGET_H
#define LOADER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define BUDGET_UNITS 32
/* Time (ns) for which a process must be over the limit before a level is lowered. */
#define BUDGET_SUSTAINED_NS 3000000000ull
#define BUDGET_PAUSE_MAX_NS 3600000000000ull /* upper limit of the pause */

/* Each level says which probes of a unit are removed. After BUDGET_NO_BULK a unit goes to either
 * BUDGET_COUNT or BUDGET_NO_CONFIRM. */
enum budget_level {
	BUDGET_ALL,	   /* all probes are attached, as their rows say */
	BUDGET_NO_BULK,	   /* group bulk is detached: counting its many hits would save little */
	BUDGET_COUNT,	   /* as BUDGET_NO_BULK, and group confirm is counted instead of sent */
	BUDGET_NO_CONFIRM, /* as BUDGET_NO_BULK, and group confirm is detached */
};

/* Why budget_fn is called */
enum budget_event {
	BUDGET_GIVEN_UP,
	BUDGET_CAME_BACK,
	/* The marker (the probe that finds steps) alone costs more than the limit. Reported once as
	 * long as this lasts. */
	BUDGET_MARKER,
};

/* A change of a unit's level, or BUDGET_MARKER */
struct budget_change {
	enum budget_event what;
	uint32_t unit;
	enum budget_level from, to;
	uint32_t pid; /* process whose cost caused the change; 0 when a level is raised */
	/* Cost in this process per second (ns): of the probes that count against the limit, or of
	 * the marker. */
	uint64_t cost_ns;
};

/* How hits are handled, and whether the budget may remove their probes */
enum budget_hits {
	BUDGET_COUNTED,
	/* Hits sent as records. The budget may have hits of group confirm counted instead. */
	BUDGET_SENT,
	BUDGET_KEPT, /* hits of probes that find steps; these probes are never removed */
};

typedef void budget_fn(void *ctx, const struct budget_change *change);

struct budget;

/* limit_ns: cost allowed in a second of any process; 0: no limit. pause_ns: first pause. Returns
 * NULL when there is no memory. */
struct budget *budget_new(uint64_t limit_ns, uint64_t pause_ns);
void budget_free(struct budget *b);

/* Adds cost of a process in the current second, for hits of a group of a unit. Returns 0 or
 * -ENOMEM. */
int budget_add(struct budget *b, uint32_t pid, uint32_t unit, enum gp_group group, uint64_t cost_ns,
	       enum budget_hits hits);
/* Ends the current second, which took elapsed_ns; reports changes to fn. */
void budget_second(struct budget *b, uint64_t elapsed_ns, budget_fn *fn, void *ctx);
void budget_forget(struct budget *b, uint32_t pid);
/* Keeps a group (confirm, bulk) of a unit attached because steps are found by it. protect false:
 * ends the protection. */
void budget_protect(struct budget *b, uint32_t unit, enum gp_group group, bool protect);
enum budget_level budget_level(const struct budget *b, uint32_t unit);

#endif
