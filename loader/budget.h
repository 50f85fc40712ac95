/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h - what observing may cost a process, and what is given up when it costs more.
 *
 * Pure: no system call, no clock; a second passes when budget_second() says so. Probes are given up
 * by unit: a runtime, whose links are shared by all processes that use it, so the most expensive
 * process decides for all. What finds steps (group marker) and what is rare and needed (fault) is
 * never given up and does not count against the limit: the marker's price is told instead.
 *
 * Over the limit for some seconds: one step down, and again while it lasts. What bulk tells (how
 * many launches) is worth less than any record of the rest (what the host waits for), so it goes
 * first and alone. Back up one step after a pause, when the forecast fits with room to spare: what
 * is only counted is still seen; what is detached is taken for as hot as it was, half as hot after
 * each pause. A pause doubles whenever coming back was a mistake. */
#ifndef LOADER_BUDGET_H
#define LOADER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define BUDGET_UNITS	    32
#define BUDGET_SUSTAINED_NS 3000000000ull
#define BUDGET_PAUSE_MAX_NS 3600000000000ull /* the longest */

enum budget_level {		    /* each holds those before it */
		    BUDGET_ALL,	    /* everything as its row says */
		    BUDGET_NO_BULK, /* bulk is detached: counting spares it little, as it is hot */
		    BUDGET_COUNT,   /* ... and confirm is counted, not sent */
		    BUDGET_NO_CONFIRM, /* ... and confirm is detached */
};

enum budget_event {
	BUDGET_GIVEN_UP,
	BUDGET_CAME_BACK,
	BUDGET_MARKER, /* the marker alone is over the limit: told once while it lasts */
};

struct budget_change {
	enum budget_event what;
	uint32_t unit;
	enum budget_level from, to;
	uint32_t pid;	  /* whose cost decided; 0 when something came back */
	uint64_t cost_ns; /* of its second: of what is bounded, or of the marker */
};

typedef void budget_fn(void *ctx, const struct budget_change *change);

struct budget;

/* limit_ns: of a second of any process; 0: nothing is given up. pause_ns: the first. NULL: no
 * memory. */
struct budget *budget_new(uint64_t limit_ns, uint64_t pause_ns);
void budget_free(struct budget *b);

/* The process spent cost_ns on hits of a unit's group in the second that runs. sent: as records,
 * which counting would spare a confirm group. 0 or -ENOMEM. */
int budget_add(struct budget *b, uint32_t pid, uint32_t unit, enum gp_group group, uint64_t cost_ns,
	       bool sent);
/* The second is over; it took elapsed_ns. fn is told what changes. */
void budget_second(struct budget *b, uint64_t elapsed_ns, budget_fn *fn, void *ctx);
void budget_forget(struct budget *b, uint32_t pid);
/* Steps are found by the unit's group (confirm, bulk): it stays attached. */
void budget_protect(struct budget *b, uint32_t unit, enum gp_group group, bool protect);
enum budget_level budget_level(const struct budget *b, uint32_t unit);

#endif
