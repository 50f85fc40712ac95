/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compares the step time of a job's last run with that of other runs in the store:
 * those with a perf tag, or those of another job. Only minutes of reference ranks count, and none
 * that an exclusion touches. */
#ifndef STORE_COMPARE_H
#define STORE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/time/compare.h"
#include "userspace/store/store.h"

/* most runs that a run is compared with; if there are more, the newest ones */
#define STORE_PEERS 256

struct store_compared {
	int64_t run;
	char job[GP_JOB_MAX];
	uint32_t attempt;
	int64_t start_ns;
	uint32_t minutes; /* number of minutes in which a step ended */
	/* values to compare; valid if there are at least COMPARE_LEAST minutes */
	struct compare_run is;
};

struct store_comparison {
	bool tagged; /* `against` is a perf tag; false: it is the name of a job */
	char against[GP_JOB_MAX];
	struct store_compared own;
	/* newest first; runs that are too short to compare come last */
	struct store_compared *peers;
	/* npeers: runs that are long enough; short_peers: the others */
	uint32_t npeers, short_peers;
	bool known; /* there is a comparison: `answer` is valid */
	struct compare_answer answer;
};

/* Compares job (id of store_job) with `against`: a perf tag, else the name, key or number of a job.
 * Returns 0; -ENOENT: no tag or job has that name, or the job has no run; -errno. The caller frees
 * *ret. */
int store_compare(struct store *st, int64_t job, const char *against, struct store_comparison *ret);
void store_comparison_free(struct store_comparison *c);

#endif
