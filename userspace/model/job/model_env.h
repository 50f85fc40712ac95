/* SPDX-License-Identifier: Apache-2.0 */
/* model_env.h - data that all jobs and ranks of a model share: settings, clock anchors, the table
 * of jobs, and the receiver of facts. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_MODEL_ENV_H
#define MODEL_MODEL_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/fact.h"
#include "userspace/model/job/job.h"
#include "userspace/model/job/notice.h"
#include "userspace/model/signal/model_probe.h"
#include "userspace/model/step/step.h"
#include "userspace/model/time/anchor.h"
#include "userspace/model/time/exclusion.h"
#include "userspace/model/time/program.h"
#include "userspace/model/time/range.h"
#include "userspace/model/time/window.h"

struct model_env {
	fact_fn *sink; /* may be NULL */
	void *ctx;
	const struct model_probes *probes; /* of the model */
	struct anchors anchors;
	/* excluded time, converted to CLOCK_MONOTONIC by the latest anchor */
	struct excluded excluded;
	struct range_rules ranges;
	struct step_config step; /* settings for step finders that are made from now on */
	uint64_t ideal_ns;	 /* ideal step time set by the user; 0: compute it */
	uint64_t hang_ns;	 /* silence that counts as a hang, set by the user; 0: compute it */
	/* A slowdown is reported when it has lasted at least slow_ns and has cost at least slow_ppm
	 * millionths of that time; 0: the default limits. */
	uint64_t slow_ns, slow_ppm;
	/* lengths of windows that the user set; 0: unused. If all are 0, window_usual_ns is
	 * used. */
	uint64_t windows_ns[WINDOWS_MAX];
	/* Limit for the cost of probes that are not markers, in ppm of a rank's time; 0: no
	 * limit. */
	uint64_t budget_ppm;
	struct program_config program;
	char job_uid[JOB_UID_MAX]; /* uid that the user set, for jobs with a name */
	uint64_t ledger_violations;
	uint64_t facts; /* number of the last fact sent */
	bool files;	/* a file record has arrived, so files are watched */
	struct jobs jobs;
	struct notices notices;
};

/* Returns the WINDOWS_MAX lengths of the windows (ns): those that the user set, or the usual
 * ones. */
static inline const uint64_t *model_env_windows(const struct model_env *env)
{
	return env->windows_ns[0] ? env->windows_ns : window_usual_ns;
}

#endif
