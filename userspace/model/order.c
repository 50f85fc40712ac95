/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/order.h"

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t t = *a;

	*a = *b;
	*b = t;
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b)
		swap(&a, &b);
	return c < a ? a : c > b ? b : c;
}

/* Hoare, Algorithm 65: Find, 1961. */
uint64_t order_nth(uint64_t *a, uint32_t n, uint32_t k)
{
	int64_t low = 0, high = (int64_t)n - 1;

	while (low < high) {
		uint64_t pivot = middle_of(a[low], a[low + (high - low) / 2], a[high]);
		int64_t i = low, j = high;

		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j)
				swap(&a[i++], &a[j--]);
		}
		if ((int64_t)k <= j)
			high = j;
		else if ((int64_t)k >= i)
			low = i;
		else
			break;
	}
	return a[k];
}

uint64_t order_median(uint64_t *a, uint32_t n)
{
	uint64_t upper = order_nth(a, n, n / 2), lower = 0;

	if (n % 2)
		return upper;
	for (uint32_t i = 0; i < n / 2; i++)
		lower = a[i] > lower ? a[i] : lower;
	return lower + (upper - lower) / 2;
}

uint64_t order_spread(uint64_t *a, uint32_t n, uint64_t med)
{
	for (uint32_t i = 0; i < n; i++)
		a[i] = a[i] > med ? a[i] - med : med - a[i];
	return order_median(a, n);
}

uint64_t order_quantile(uint64_t *a, uint32_t n, unsigned percent)
{
	uint64_t rank = ((uint64_t)n * percent + 99) / 100;

	return order_nth(a, n, rank ? (uint32_t)rank - 1 : 0);
}
