/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - an event that interrupted a job which resumed, or should have, and its cost. Times
 * in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_DISRUPTION_H
#define MODEL_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#define DISRUPTIONS_KEPT   4096 /* of one job; further ones are only counted */
#define DISRUPTION_NO_STEP INT64_MIN

struct disruption {
	uint64_t at_ns; /* when the process ended; if its end was not seen: last sign of life */
	uint64_t resumed_ns;	    /* start of the first step after it; 0: none yet */
	int64_t step, resumed_step; /* step in progress when it happened; first step after it */
	uint64_t wasted_ns;	    /* progress that had to be repeated */
	uint64_t recovery_ns;	    /* from at_ns to the first productive step; 0: none yet */
	uint64_t down_ns;	    /* part of recovery_ns in which nothing ran */
	uint32_t starts;	    /* program starts it took; 0: resumed in the same process */
	bool graceful;		    /* the job had announced its end */
};

#endif
