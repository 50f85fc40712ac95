/* SPDX-License-Identifier: Apache-2.0 */
/* worth.h - where the time of a job's accelerators went: of all its ranks that the store has, over
 * all runs. */
#ifndef STORE_WORTH_H
#define STORE_WORTH_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/time/ledger.h"
#include "userspace/store/query.h"

/* By bucket, in ns; all 0: no accelerator is known. sums: the job's own within the span
 * (store_job_totals()): outages, and progress that was lost, are the job's; what its ranks have not
 * of them already is its ranks' too. If other nodes had runs of the job, only runs of this node
 * count: the others cost other nodes' accelerators. each: accelerators of each rank; 0: as the
 * store has them. 0 or -errno. */
int store_worth(struct store *st, const struct store_job *job, const struct store_span *span,
		const struct sums *sums, uint32_t each, double ret_ns[BUCKET_COUNT]);

#endif
