/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/order.h"

static void order_swap(uint64_t *a, uint64_t *b)
{
	uint64_t t = *a;

	*a = *b;
	*b = t;
}

static uint64_t order_middle_of(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b)
		order_swap(&a, &b);
	return c < a ? a : c > b ? b : c;
}

/* Quickselect: Hoare, Algorithm 65: Find, 1961. */
uint64_t order_nth(uint64_t *a, uint32_t n, uint32_t k)
{
	int64_t low = 0, high = (int64_t)n - 1;

	while (low < high) {
		uint64_t pivot = order_middle_of(a[low], a[low + (high - low) / 2], a[high]);
		int64_t i = low, j = high;

		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j)
				order_swap(&a[i++], &a[j--]);
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

static uint64_t order_middle(uint64_t lower, uint64_t upper)
{
	return lower + (upper - lower) / 2;
}

uint64_t order_median(uint64_t *a, uint32_t n)
{
	uint64_t upper = order_nth(a, n, n / 2), lower = 0;

	if (n % 2)
		return upper;
	for (uint32_t i = 0; i < n / 2; i++)
		lower = a[i] > lower ? a[i] : lower;
	return order_middle(lower, upper);
}

uint64_t order_spread(uint64_t *a, uint32_t n, uint64_t med)
{
	for (uint32_t i = 0; i < n; i++)
		a[i] = a[i] > med ? a[i] - med : med - a[i];
	return order_median(a, n);
}

void order_sort(uint64_t *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k && a[k - 1] > a[k]; k--)
			order_swap(&a[k - 1], &a[k]);
}

/* Returns the index, from 0, of the quantile `percent` in n sorted values. */
static uint32_t order_nearest_rank(uint32_t n, unsigned percent)
{
	uint64_t rank = ((uint64_t)n * percent + 99) / 100;

	return rank ? (uint32_t)rank - 1 : 0;
}

uint64_t order_quantile(uint64_t *a, uint32_t n, unsigned percent)
{
	return order_nth(a, n, order_nearest_rank(n, percent));
}

uint64_t order_sorted_quantile(const uint64_t *a, uint32_t n, unsigned percent)
{
	return a[order_nearest_rank(n, percent)];
}

uint64_t order_sorted_median(const uint64_t *a, uint32_t n)
{
	return n % 2 ? a[n / 2] : order_middle(a[n / 2 - 1], a[n / 2]);
}

/* The distances from med ascend on both sides of med. Merges the two sides until the middle of all
 * distances is reached. */
uint64_t order_sorted_spread(const uint64_t *a, uint32_t n, uint64_t med)
{
	uint32_t below = 0, above, high = n;
	uint64_t before = 0, now = 0;

	while (below < high) {
		uint32_t at = below + (high - below) / 2;

		if (a[at] < med)
			below = at + 1;
		else
			high = at;
	}
	above = below;
	for (uint32_t i = 0; i <= n / 2; i++) {
		before = now;
		if (!below || (above < n && a[above] - med < med - a[below - 1]))
			now = a[above++] - med;
		else
			now = med - a[--below];
	}
	return n % 2 ? now : order_middle(before, now);
}
