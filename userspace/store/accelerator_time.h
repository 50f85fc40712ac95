/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator_time.h - the accelerator time of a job by bucket: the time of each rank in the store
 * multiplied by its number of accelerators. */
#ifndef STORE_ACCELERATOR_TIME_H
#define STORE_ACCELERATOR_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"
#include "userspace/store/query.h"

/* Computes the accelerator time of a job by bucket (ns); all 0: the number of accelerators is not
 * known. sums: time of the job in the span (store_job_totals()), of which recovery and wasted
 * progress are used, because all ranks share them. each: accelerators of each rank; 0: as stored.
 * If the job also had runs on other nodes, only those of this node count. Returns 0 or -errno. */
int store_accelerator_time(struct store *st, const struct store_job *job,
			   const struct store_span *span, const struct sums *sums, uint32_t each,
			   double ret_ns[BUCKET_COUNT]);

#endif
