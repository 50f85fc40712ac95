/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - an event that interrupted a job, and its cost. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_DISRUPTION_H
#define MODEL_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#define DISRUPTIONS_KEPT   4096 /* of one job; further ones are only counted */
#define DISRUPTION_NO_STEP INT64_MIN

struct disruption {
	uint64_t at_ns; /* end of the process; if its end was not seen: its last sign of life */
	/* start of the first step after the disruption; 0: none yet */
	uint64_t resumed_ns;
	/* step: the one in progress at at_ns; resumed_step: the first one after */
	int64_t step, resumed_step;
	uint64_t wasted_ns;   /* progress that had to be repeated */
	uint64_t recovery_ns; /* from at_ns to the first productive step; 0: none yet */
	uint64_t down_ns;     /* part of recovery_ns in which no process of the job ran */
	/* starts of programs until the job resumed; 0: resumed in the same process */
	uint32_t starts;
	bool graceful; /* the job had announced its end */
};

#endif
