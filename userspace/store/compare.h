/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compares a job's last run with other runs in the store: those of a perf tag, or of
 * another job. Counts only minutes of reference ranks that no exclusion touches. */
#ifndef STORE_COMPARE_H
#define STORE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/time/compare.h"
#include "userspace/store/store.h"

#define STORE_PEERS 256 /* most runs compared with: the newest */

struct store_compared {
	int64_t run;
	char job[GP_JOB_MAX];
	uint32_t attempt;
	int64_t start_ns;
	uint32_t minutes;      /* minutes that contain a step */
	struct compare_run is; /* valid if there are at least COMPARE_LEAST minutes */
};

struct store_comparison {
	bool tagged; /* `against` is a tag; otherwise the name of a job */
	char against[GP_JOB_MAX];
	struct store_compared own;
	struct store_compared *peers; /* newest first; runs that are too short are last */
	uint32_t npeers, short_peers; /* npeers: peers that are long enough */
	bool known;		      /* the comparison is valid; `difference` is set */
	struct compare_answer answer;
};

/* Compares job (id of store_job) with `against`: a tag, else the name, key or number of a job.
 * Returns 0; -ENOENT: there is nothing of that name, or the job has no run; -errno. The caller
 * frees *ret. */
int store_compare(struct store *st, int64_t job, const char *against, struct store_comparison *ret);
void store_comparison_free(struct store_comparison *c);

#endif
