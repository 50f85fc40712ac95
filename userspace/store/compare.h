/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compares the step time of a job's last run with that of other runs in the store: runs
 * with a given perf tag, or runs of another job. Only minutes of reference ranks are compared;
 * minutes in which time is excluded are skipped. */
#ifndef STORE_COMPARE_H
#define STORE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/time/compare.h"
#include "userspace/store/store.h"

/* limit of runs that a run is compared with; if there are more, the newest are used */
#define STORE_PEERS 256

struct store_compared {
	int64_t run;
	char job[GP_JOB_MAX];
	uint32_t attempt;
	int64_t start_ns;
	uint32_t minutes; /* number of minutes in which at least one step ended */
	/* the values to compare; valid if `minutes` is at least COMPARE_LEAST */
	struct compare_run is;
};

struct store_comparison {
	bool tagged; /* `against` is a perf tag; false: it is the name of a job */
	char against[GP_JOB_MAX];
	struct store_compared own;
	/* the runs to compare with, newest first; runs that are too short come last */
	struct store_compared *peers;
	/* numbers of runs that are long enough to compare (npeers) and of those that are not */
	uint32_t npeers, short_peers;
	bool known; /* `answer` is valid: there was at least one run to compare with */
	struct compare_answer answer;
};

/* Compares the last run of a job with other runs. job: id of store_job. against: a perf tag,
 * otherwise the name, key or number of a job. Returns 0; -ENOENT: there is no such tag or job, or
 * the job has no run; -errno. The caller frees *ret. */
int store_compare(struct store *st, int64_t job, const char *against, struct store_comparison *ret);
void store_comparison_free(struct store_comparison *c);

#endif
