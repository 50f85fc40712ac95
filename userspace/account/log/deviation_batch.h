/* SPDX-License-Identifier: Apache-2.0 */
/* deviation_batch.h - statistics of step times for a log, where all times are known. The results
 * equal those of the goodput library (ml-goodput-measurement 0.2.3, which uses numpy and scipy) to
 * the last bit, except means, whose last digits may differ. Times are seconds. The functions take
 * linear time and allocate nothing. Pure. For running jobs see deviation.h. */
#ifndef ACCOUNT_DEVIATION_BATCH_H
#define ACCOUNT_DEVIATION_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#define DEVIATION_LIBRARY_LEAST_S 1.0 /* the goodput library ignores shorter steps */

/* Computes the ideal step time: the mean of all times up to median + 3 MAD (unscaled). Ignores
 * times below least_s. Returns false if no times are left. */
bool deviation_batch_ideal(const double *times_s, size_t count, double least_s,
			   double *ret_ideal_s);
double deviation_batch_mean(const double *values, size_t count); /* 0 if count is 0 */
/* Returns the step_time_deviation of the library, from deviations in the order of steps; uses their
 * absolute values. With fewer than 100 values it is the mean. Otherwise it is the 90th percentile
 * of the last 100 values. From 1100 values on, unless `interval` is set, the median of the 1000
 * values before these is subtracted. */
double deviation_batch_metric(const double *deviations_s, size_t count, bool interval);

#endif
