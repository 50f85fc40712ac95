/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - order statistics of small arrays, in place. Pure. Each needs n >= 1. */
#ifndef MODEL_ORDER_H
#define MODEL_ORDER_H

#include <stdint.h>

/* The k-th smallest of n, k < n; smaller ones stand before it afterwards. */
uint64_t order_nth(uint64_t *a, uint32_t n, uint32_t k);
/* Mean of the two in the middle where n is even, rounded down. */
uint64_t order_median(uint64_t *a, uint32_t n);
/* Median absolute deviation from med; a is overwritten. */
uint64_t order_spread(uint64_t *a, uint32_t n, uint64_t med);
/* Nearest rank: the smallest that percent of 100 are no larger than. */
uint64_t order_quantile(uint64_t *a, uint32_t n, unsigned percent);

#endif
