/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - a job's last run beside others that the store knows: those of a perf tag, or of
 * another job. The minutes of the reference rank of each job count, without those that an exclusion
 * touches. */
#ifndef STORE_COMPARE_H
#define STORE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/model/time/compare.h"
#include "userspace/store/store.h"

#define STORE_PEERS 256 /* the newest */

struct store_compared {
	int64_t run;
	char job[GP_JOB_MAX];
	uint32_t attempt;
	int64_t start_ns;
	uint32_t minutes;      /* with a step in them */
	struct compare_run is; /* where they are enough: COMPARE_LEAST */
};

struct store_comparison {
	bool tagged; /* against is a tag; else the name of a job */
	char against[GP_JOB_MAX];
	struct store_compared own;
	struct store_compared *peers; /* the newest first, those that are too short last */
	uint32_t npeers, short_peers; /* npeers: long enough */
	bool known;		      /* there is an answer: */
	struct compare_answer answer;
};

/* against: a tag, else the name, key or number of a job. job: of store_job. -ENOENT: there is
 * nothing of that name, or the job has no run. The caller frees *ret. */
int store_compare(struct store *st, int64_t job, const char *against, struct store_comparison *ret);
void store_comparison_free(struct store_comparison *c);

#endif
