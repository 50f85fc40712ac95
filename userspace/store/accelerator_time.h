/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_time.h - where the time of a job's accelerators went: of all its ranks in the store,
 * over all runs. */
#ifndef STORE_ACCELERATOR_TIME_H
#define STORE_ACCELERATOR_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"
#include "userspace/store/query.h"

/* Computes accelerator time by bucket (ns); all 0: no accelerators are known. sums: of the job
 * within the span (store_job_totals()): outages and lost progress are only known for the job and
 * are spread over its ranks. If runs of the job were on other nodes, only runs of this node count,
 * because the others used other nodes' accelerators. each: accelerators of each rank; 0: as stored.
 * Returns 0 or -errno. */
int store_accelerator_time(struct store *st, const struct store_job *job,
			   const struct store_span *span, const struct sums *sums, uint32_t each,
			   double ret_ns[BUCKET_COUNT]);

#endif
