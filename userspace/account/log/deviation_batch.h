/* SPDX-License-Identifier: Apache-2.0 */
/* deviation_batch.h - statistics of step times that are all at hand, to the last bit as the goodput
 * library (ml-goodput-measurement 0.2.3) takes them from numpy and scipy, means excepted (the last
 * digits). Seconds. Linear in the count whatever the values; no memory. Pure. deviation.h is the
 * one for a running job. */
#ifndef ACCOUNT_DEVIATION_BATCH_H
#define ACCOUNT_DEVIATION_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#define DEVIATION_LIBRARY_LEAST_S 1.0 /* the library leaves shorter steps out */

/* Ideal step: the mean of the times up to median + 3 MAD (unscaled), of those of least_s or more
 * (negative times are never taken for least_s >= 0). false: there is none. */
bool deviation_batch_ideal(const double *times_s, size_t count, double least_s,
			   double *ret_ideal_s);
double deviation_batch_mean(const double *values, size_t count); /* 0 of nothing */
/* The library's step_time_deviation of deviations in order, their signs left out. Under 100: the
 * mean. Else the 90th percentile of the last 100, and, unless `interval`, from 1100 on less the
 * median of the 1000 before. */
double deviation_batch_metric(const double *deviations_s, size_t count, bool interval);

#endif
