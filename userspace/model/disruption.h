/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - one event that interrupted a job which went on, or should have (design §6), and
 * its cost. */
#ifndef MODEL_DISRUPTION_H
#define MODEL_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#define DISRUPTIONS_KEPT   4096 /* of one job; beyond, they are counted only */
#define DISRUPTION_NO_STEP INT64_MIN

struct disruption {
	uint64_t at_ns;		    /* last sign of life before it */
	uint64_t resumed_ns;	    /* first step after it; 0: not yet */
	int64_t step, resumed_step; /* in flight when it came; the first one after it */
	uint64_t wasted_ns;	    /* progress that had to be made again */
	uint64_t recovery_ns; /* from at_ns to the first productive step after it; 0: not yet */
	uint64_t down_ns;     /* ... of which nothing ran */
	uint32_t starts;      /* that it took; 0: it went on in the same process */
	bool graceful;	      /* the job had said that it ends */
};

#endif
