/* SPDX-License-Identifier: Apache-2.0 */
/* disruption.h - what an event that interrupted a job has cost. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_DISRUPTION_H
#define MODEL_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum number of disruptions listed for a job. Further ones are only counted. */
#define DISRUPTIONS_KEPT   4096
#define DISRUPTION_NO_STEP INT64_MIN

struct disruption {
	uint64_t at_ns; /* end of the process, or its last sign of life if its end was not seen */
	/* start of the first step after the disruption; 0: there is none yet */
	uint64_t resumed_ns;
	/* step: the step in progress at at_ns. resumed_step: the first step after the
	 * disruption. */
	int64_t step, resumed_step;
	uint64_t wasted_ns; /* goodput that had to be repeated */
	/* from at_ns to the end of the first step after it; 0: not known yet */
	uint64_t recovery_ns;
	uint64_t down_ns; /* part of recovery_ns in which no process of the job ran */
	/* Number of program starts until the job resumed; 0: it resumed in the same process. */
	uint32_t starts;
	bool graceful; /* the process was asked to end, and did so without a failure */
};

#endif
