/* SPDX-License-Identifier: Apache-2.0 */
/* step_time.h - a finished step and where its time went. Durations in ns, instants CLOCK_MONOTONIC
 * ns. */
#ifndef MODEL_STEP_TIME_H
#define MODEL_STEP_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/time/range_share.h"
#include "userspace/model/step/step.h"

/* Phases of a step, in display order: host time of the thread that steps. Phases do not overlap:
 * blocked time and compilation are subtracted from the pass or update around them. */
enum phase {
	PHASE_DATA, /* blocked in the data loader */
	/* From the batch (or the start of the step) to the first backward pass. Unknown without a
	 * data loader. */
	PHASE_FORWARD,
	PHASE_BACKWARD, /* from the first backward pass to the optimizer's step */
	PHASE_UPDATE,	/* within the optimizer's step ranges */
	PHASE_ZERO_GRAD,
	PHASE_SYNC, /* blocked on the device */
	/* Blocked in calls of collectives. Waiting for a queued collective counts as PHASE_SYNC. */
	PHASE_COLLECTIVE,
	PHASE_TRANSFER, /* blocked in copies */
	PHASE_COMPILE,
	PHASE_COUNT,
};
extern const char *const phase_name[PHASE_COUNT];

#define STEP_PIECES 16
struct step_piece {
	enum phase phase;
	uint64_t from_ns, to_ns;
};

struct fact_step {
	struct step step;		/* step.number counts over all runs of the job */
	uint64_t run_step;		/* number of the step within the run */
	uint64_t phase_ns[PHASE_COUNT]; /* 0 if the phase's bit in phases_known is not set */
	uint32_t phases_known; /* bit set of phases (1 << enum phase) whose time is known */
	/* Waiting for the device was seen, so host_ns and wait_ns are known. */
	bool device_known;
	/* Time of the thread except waiting (loader, device, collectives, copies) and compiling. */
	uint64_t host_ns;
	/* Intervals of data, forward, backward, update and zero_grad, as far as known. If there are
	 * too many, the first ones are kept. They include blocked time, so they may be longer than
	 * phase_ns. Of an interrupted forward pass only the last part is included. */
	struct step_piece piece[STEP_PIECES];
	uint32_t npieces;
	/* Intervals in which the thread was blocked (sync, collective, transfer, compile): the
	 * longest ones, in order of time, not overlapping. */
	struct step_piece blocked[STEP_PIECES];
	uint32_t nblocked;
	/* Shares of the job's named ranges in the step; NULL: unknown. */
	const struct share_view *ranges;
	/* Time blocked where other ranks may be the reason: sync, collectives, copies to the
	 * host. */
	uint64_t wait_ns;
};

#endif
