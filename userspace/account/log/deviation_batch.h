/* SPDX-License-Identifier: Apache-2.0 */
/* deviation_batch.h - statistics of step times that are all available, equal to the last bit to
 * those that the goodput library (ml-goodput-measurement 0.2.3) gets from numpy and scipy; only
 * means may differ in the last digits. Seconds. Takes linear time for any values and allocates
 * nothing. Pure. See deviation.h for running jobs. */
#ifndef ACCOUNT_DEVIATION_BATCH_H
#define ACCOUNT_DEVIATION_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#define DEVIATION_LIBRARY_LEAST_S 1.0 /* the library ignores shorter steps */

/* Computes the ideal step: the mean of the times up to median + 3 MAD (unscaled), among times of
 * least_s or more (negative times are ignored if least_s >= 0). Returns false if there are no such
 * times. */
bool deviation_batch_ideal(const double *times_s, size_t count, double least_s,
			   double *ret_ideal_s);
double deviation_batch_mean(const double *values, size_t count); /* 0 if count is 0 */
/* Returns the library's step_time_deviation of the absolute values of deviations in order: for
 * fewer than 100 values their mean; otherwise the 90th percentile of the last 100 and, unless
 * `interval`, from 1100 on minus the median of the 1000 before. */
double deviation_batch_metric(const double *deviations_s, size_t count, bool interval);

#endif
