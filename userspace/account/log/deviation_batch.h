/* SPDX-License-Identifier: Apache-2.0 */
/* deviation_batch.h - statistics of step times for a log, where all times are known. They equal to
 * the last bit those that the goodput library (ml-goodput-measurement 0.2.3) computes with numpy
 * and scipy; only means may differ in the last digits. Times are seconds. The functions take linear
 * time and allocate nothing. Pure. For running jobs see deviation.h. */
#ifndef ACCOUNT_DEVIATION_BATCH_H
#define ACCOUNT_DEVIATION_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#define DEVIATION_LIBRARY_LEAST_S 1.0 /* the goodput library ignores shorter steps */

/* Computes the ideal step time: the mean of the times up to median + 3 MAD (unscaled). Uses times
 * of at least least_s. Returns false if there are no such times. */
bool deviation_batch_ideal(const double *times_s, size_t count, double least_s,
			   double *ret_ideal_s);
double deviation_batch_mean(const double *values, size_t count); /* 0 if count is 0 */
/* Returns what the library calls step_time_deviation, from deviations in order of steps, of which
 * it uses the absolute values. For fewer than 100 values this is their mean. Otherwise it is the
 * 90th percentile of the last 100; unless `interval` is set, from 1100 values on the median of the
 * 1000 before is subtracted. */
double deviation_batch_metric(const double *deviations_s, size_t count, bool interval);

#endif
