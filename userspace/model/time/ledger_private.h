/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_private.h - the state of a ledger, for ledger.c, ledger_step.c and ledger_save.c. */
#ifndef MODEL_LEDGER_PRIVATE_H
#define MODEL_LEDGER_PRIVATE_H

#include <stdlib.h>

#include "userspace/model/time/ledger.h"

/* Initial capacity of `pending`. */
#define LEDGER_PENDING_MIN 16
/* Number of first steps that are kept until the ideal is known, to move their time above the ideal
 * to startup. The ideal is known after far fewer steps. */
#define LEDGER_EARLY 64

struct interval {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
	uint32_t type; /* index in types; BUCKET_CUSTOM only */
};

struct early {			 /* a step that ended before the ideal was known */
	uint64_t from_ns, to_ns; /* time span of the step in the ledger */
	uint64_t ns;		 /* goodput of the step */
};

struct ledger {
	uint64_t start_ns, settled_ns, now_ns; /* always start_ns <= settled_ns <= now_ns */
	uint64_t ns[BUCKET_COUNT];	       /* settled time only */
	struct ledger_type types[LEDGER_TYPES];
	/* entries of types in use, LEDGER_REST included; 0: no custom event yet */
	uint32_t ntypes;
	uint64_t disproved_ns; /* total time moved from GOODPUT to WASTED */
	uint64_t late_ns, coarse;
	uint64_t steps, max_step;
	uint64_t run_steps;	   /* steps of the current run */
	uint64_t ideal_ns, mad_ns; /* 0: unknown */
	/* time booked as startup before the first step, and the end of that time */
	uint64_t lead_ns, lead_end_ns;
	struct early early[LEDGER_EARLY];
	uint32_t nearly;
	uint32_t opening; /* number of coming steps whose time above the ideal may be startup */
	bool attached;	  /* the process ran before it was watched */
	/* the first steps were divided by the ideal: from now on, gross goodput never decreases */
	bool final;
	bool ended;
	bool hung; /* a hang was booked */
	/* The rank has no training steps, so its time is OTHER and not startup. */
	bool untrained;
	struct interval *pending;	 /* sorted by from_ns */
	uint32_t count, cap, keep;	 /* keep: not saved */
	const struct excluded *excluded; /* not saved */
	ledger_trace_fn trace;		 /* not saved */
	void *trace_ctx;
};

/* Division of the time of a step that no interval has, from its first nanosecond on: head_ns to
 * bucket `head`, body_ns to GOODPUT, the rest to bucket `tail`. */
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

/* Returns the bucket that gets the instant at_ns: that of the interval with the highest priority,
 * or `rest` if there is no interval. *to_ns is lowered to the next instant at which this changes.
 * *ret_type: index of the type for BUCKET_CUSTOM. */
enum bucket ledger_owner(const struct ledger *l, uint64_t at_ns, enum bucket rest, uint64_t *to_ns,
			 uint32_t *ret_type);
/* Settles the time up to to_ns. Time without an interval goes to `rest`; in a step, it is divided
 * according to *share (NULL: not a step). */
void ledger_settle(struct ledger *l, uint64_t to_ns, enum bucket rest, const struct share *share);
/* Moves where->ns from bucket `was` to bucket `to`, in the span from where->from_ns to
 * where->to_ns. Moves less if `was` has less. */
void ledger_move(struct ledger *l, enum bucket was, enum bucket to, const struct early *where);
/* Returns the bucket of time that is outside steps and intervals. */
static inline enum bucket ledger_rest(const struct ledger *l)
{
	return l->run_steps || l->untrained ? BUCKET_OTHER : BUCKET_PROGRAM_STARTUP;
}

#endif
