/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_time.h - the time of a job's accelerators by bucket, added up over all its ranks and
 * runs in the store. */
#ifndef STORE_ACCELERATOR_TIME_H
#define STORE_ACCELERATOR_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"
#include "userspace/store/query.h"

/* Computes accelerator time by bucket (ns); all 0: no accelerators are known. sums: time of the job
 * in the span (store_job_totals()), because outages and lost progress are known only for the whole
 * job. each: accelerators of each rank; 0: as stored. If the job also had runs on other nodes, only
 * those of this node count. Returns 0 or -errno. */
int store_accelerator_time(struct store *st, const struct store_job *job,
			   const struct store_span *span, const struct sums *sums, uint32_t each,
			   double ret_ns[BUCKET_COUNT]);

#endif
