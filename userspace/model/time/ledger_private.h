/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_private.h - the state of a ledger, shared by ledger.c, ledger_step.c and ledger_save.c.
 */
#ifndef MODEL_LEDGER_PRIVATE_H
#define MODEL_LEDGER_PRIVATE_H

#include <stdlib.h>

#include "userspace/model/time/ledger.h"

/* Initial room for pending intervals. */
#define LEDGER_PENDING_MIN 16
/* First steps whose goodput can still be moved: the ideal is known long before there are so many.
 */
#define LEDGER_EARLY 64

struct interval {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
	uint32_t type; /* index in types; BUCKET_CUSTOM only */
};

struct early {			 /* a step before the ideal was known */
	uint64_t from_ns, to_ns; /* the time that it settled */
	uint64_t ns;		 /* goodput in it */
};

struct ledger {
	uint64_t start_ns, settled_ns, now_ns; /* start <= settled <= now */
	uint64_t ns[BUCKET_COUNT];	       /* settled time only */
	struct ledger_type types[LEDGER_TYPES];
	uint32_t ntypes;       /* including LEDGER_REST; 0: no custom event yet */
	uint64_t disproved_ns; /* moved from GOODPUT to WASTED */
	uint64_t late_ns, coarse;
	uint64_t steps, max_step;
	uint64_t run_steps;	       /* steps of the current run */
	uint64_t ideal_ns, mad_ns;     /* 0: unknown */
	uint64_t lead_ns, lead_end_ns; /* booked as startup before the first step */
	struct early early[LEDGER_EARLY];
	uint32_t nearly;
	uint32_t opening; /* number of steps whose excess may be startup */
	bool attached;	  /* the process ran before it was watched */
	bool final;	  /* first steps are settled: from here on goodput only grows */
	bool ended;
	bool hung;			 /* a hang was booked */
	bool untrained;			 /* it never stepped, and its time was not startup */
	struct interval *pending;	 /* sorted by from_ns */
	uint32_t count, cap, keep;	 /* keep: not saved */
	const struct excluded *excluded; /* not saved */
	ledger_trace_fn trace;		 /* not saved */
	void *trace_ctx;
};

/* How the unclaimed time of a step is divided, from its first nanosecond on: head, body (GOODPUT),
 * and the rest to tail. */
struct share {
	uint64_t head_ns, body_ns;
	enum bucket head, tail;
};

#ifdef GP_LEDGER_ABORT
#define ledger_assert(l)                                                                           \
	do {                                                                                       \
		if (!ledger_check(l))                                                              \
			abort();                                                                   \
	} while (0)
#else
#define ledger_assert(l) ((void)(l))
#endif

/* Returns the bucket that gets the instant at_ns: that of the first interval by priority, `rest`
 * without any. *to_ns is lowered to where that changes. *ret_type: index of the type for
 * BUCKET_CUSTOM. */
enum bucket ledger_owner(const struct ledger *l, uint64_t at_ns, enum bucket rest, uint64_t *to_ns,
			 uint32_t *ret_type);
/* Settles the time up to to_ns. Time that no interval claims goes to rest, or is divided as *share
 * says (a step; may be NULL). */
void ledger_settle(struct ledger *l, uint64_t to_ns, enum bucket rest, const struct share *share);
/* Moves where->ns from bucket `was` to bucket `to`, between where->from_ns and where->to_ns; no
 * more than `was` has. */
void ledger_move(struct ledger *l, enum bucket was, enum bucket to, const struct early *where);
/* Returns the bucket of unclaimed time outside steps. */
static inline enum bucket ledger_rest(const struct ledger *l)
{
	return l->run_steps || l->untrained ? BUCKET_OTHER : BUCKET_PROGRAM_STARTUP;
}

#endif
