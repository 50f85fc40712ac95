/* SPDX-License-Identifier: Apache-2.0 */
/* ledger_internal.h - what a ledger is made of. */
#ifndef MODEL_LEDGER_INTERNAL_H
#define MODEL_LEDGER_INTERNAL_H

#include <stdlib.h>

#include "userspace/model/ledger.h"

#define LEDGER_PENDING_MIN 16
#define LEDGER_EARLY                                                                               \
	64 /* steps whose goodput may still be moved: the ideal is known long before               \
	    */

struct interval {
	uint64_t from_ns, to_ns;
	enum bucket bucket;
	uint32_t type; /* index of a type; of custom events alone */
};

struct early {			 /* a step before the ideal was known */
	uint64_t from_ns, to_ns; /* of what it settled */
	uint64_t ns;		 /* goodput in it */
};

struct ledger {
	uint64_t start_ns, settled_ns, now_ns; /* start <= settled <= now */
	uint64_t ns[BUCKET_COUNT];	       /* of what is settled */
	struct ledger_type types[LEDGER_TYPES];
	uint32_t ntypes;       /* with the rest; 0: no custom event yet */
	uint64_t disproved_ns; /* moved from goodput to waste */
	uint64_t late_ns, coarse;
	uint64_t steps, max_step;
	uint64_t run_steps;	       /* of this run */
	uint64_t ideal_ns, mad_ns;     /* 0: not known */
	uint64_t lead_ns, lead_end_ns; /* booked as startup before the first step */
	struct early early[LEDGER_EARLY];
	uint32_t nearly;
	uint32_t opening; /* so many steps may have an excess that is startup */
	bool attached;	  /* the process ran before we watched */
	bool final;	  /* first steps are settled: goodput only grows from here on */
	bool ended;
	bool hung;		   /* a hang was told of */
	struct interval *pending;  /* by from_ns */
	uint32_t count, cap, keep; /* keep: not saved */
	const struct away *away;   /* not saved */
	ledger_trace_fn trace;	   /* not saved */
	void *trace_ctx;
};

/* How the unclaimed time of a step is shared out, from its first nanosecond on. */
struct share {
	uint64_t head_ns, body_ns; /* body: GOODPUT; what is left is the tail's */
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

/* Whose is the instant at_ns, and until when (at most *to_ns) nothing changes. */
enum bucket ledger_owner(const struct ledger *l, uint64_t at_ns, enum bucket rest, uint64_t *to_ns,
			 uint32_t *ret_type);
/* What no interval claims goes to rest. */
void ledger_settle(struct ledger *l, uint64_t to_ns, enum bucket rest, const struct share *share);
/* ns between from_ns and to_ns turn out to be another bucket's; no more than that bucket has. */
void ledger_move(struct ledger *l, enum bucket was, enum bucket to, const struct early *where);
/* What lies outside of steps and is not claimed. */
static inline enum bucket ledger_rest(const struct ledger *l)
{
	return l->run_steps ? BUCKET_OTHER : BUCKET_PROGRAM_STARTUP;
}

#endif
