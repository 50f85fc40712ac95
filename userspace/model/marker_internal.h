/* SPDX-License-Identifier: Apache-2.0 */
/* marker_internal.h - what marker.c (records to signals) and marker_save.c (its state as bytes) share. */
#ifndef MODEL_MARKER_INTERNAL_H
#define MODEL_MARKER_INTERNAL_H

#include "userspace/base/grow.h"
#include "userspace/model/marker.h"

enum range_class { RANGE_OTHER, RANGE_STEP, RANGE_ZERO_GRAD, RANGE_FETCH, RANGE_FORWARD };

struct range {
	uint64_t begin_ns;
	uint16_t depth;
	uint8_t class;
	bool deep;     /* an operator inside it ran below the live backward */
	uint32_t name; /* of RANGE_STEP and RANGE_ZERO_GRAD */
	uint64_t ident;
	char text[GP_NAME_MAX];
};

struct thread {
	uint32_t tid; /* 0: free */
	uint32_t open;
	uint32_t steps; /* RANGE_STEP among the open ones */
	uint64_t seen_ns;
	uint64_t outer_sp;	      /* of the last outermost backward; 0: none that may still run */
	uint16_t outer_depth;	      /* ranges open when it started */
	uint32_t nested, nested_most; /* backwards below it; below any before */
	bool saving;
	uint64_t save_ns;
	struct range *ranges; /* GP_RANGE_DEPTH at most */
	uint32_t ranges_cap;
	char save[GP_PATH_MAX];
};

struct marker {
	struct thread **threads; /* MARKER_THREADS at most */
	uint32_t nthreads, threads_cap;
	struct thread *last; /* most records are of the thread before */
	uint32_t nnames, names_cap;
	char **names; /* MARKER_NAMES at most */
};

/* marker_name.c: what the range is, by its text, which becomes the class of an optimizer's. */
void marker_classify(struct marker *m, struct range *r);

#endif
