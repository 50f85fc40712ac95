/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - medians, quantiles and spread of small arrays. Pure. All functions need n >= 1.
 * Functions on unsorted arrays reorder them in place; the "sorted" ones need an array in ascending
 * order. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* Returns the k-th smallest of n values, counted from 0. Then all smaller values are before it in
 * the array. */
uint64_t order_nth(uint64_t *a, uint32_t n, uint32_t k);
/* Returns the median; if n is even the mean of the two middle values, rounded down. */
uint64_t order_median(uint64_t *a, uint32_t n);
/* Returns the median absolute deviation from med. Overwrites a. */
uint64_t order_spread(uint64_t *a, uint32_t n, uint64_t med);
/* Returns a quantile by nearest rank: the smallest value that at least `percent` of 100 values do
 * not exceed. */
uint64_t order_quantile(uint64_t *a, uint32_t n, unsigned percent);
/* Sorts by insertion, which is fast for a few dozen values. */
void order_sort(uint64_t *a, uint32_t n);

uint64_t order_sorted_median(const uint64_t *a, uint32_t n);
uint64_t order_sorted_spread(const uint64_t *a, uint32_t n, uint64_t med);
uint64_t order_sorted_quantile(const uint64_t *a, uint32_t n, unsigned percent);

#endif
