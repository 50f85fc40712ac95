/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/step_time.h"

const char *const phase_name[PHASE_COUNT] = {
	[PHASE_DATA] = "data",
	[PHASE_FORWARD] = "forward",
	[PHASE_BACKWARD] = "backward",
	[PHASE_UPDATE] = "update",
	[PHASE_ZERO_GRAD] = "zero_grad",
	[PHASE_SYNC] = "sync",
	[PHASE_COLLECTIVE] = "collective",
	[PHASE_TRANSFER] = "transfer",
	[PHASE_COMPILE] = "compile",
};
