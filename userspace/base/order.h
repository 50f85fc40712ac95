/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - order statistics of small arrays. Pure. Each needs n >= 1. Those of an array in any
 * order work in place; the sorted ones find the same in one that ascends. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* The k-th smallest of n, k < n; smaller ones stand before it afterwards. */
uint64_t order_nth(uint64_t *a, uint32_t n, uint32_t k);
/* Mean of the two in the middle where n is even, rounded down. */
uint64_t order_median(uint64_t *a, uint32_t n);
/* Median absolute deviation from med; a is overwritten. */
uint64_t order_spread(uint64_t *a, uint32_t n, uint64_t med);
/* Nearest rank: the smallest that percent of 100 are no larger than. */
uint64_t order_quantile(uint64_t *a, uint32_t n, unsigned percent);
/* For a few dozen: by insertion. */
void order_sort(uint64_t *a, uint32_t n);

uint64_t order_sorted_median(const uint64_t *a, uint32_t n);
uint64_t order_sorted_spread(const uint64_t *a, uint32_t n, uint64_t med);
uint64_t order_sorted_quantile(const uint64_t *a, uint32_t n, unsigned percent);

#endif
