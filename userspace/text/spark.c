/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/text/spark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARK_MAX 128

static int spark_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void spark_scale(struct spark *s, const uint64_t *ns, int n, int width)
{
	uint64_t sorted[SPARK_MAX], away[SPARK_MAX], median, limit, least;

	width = width < SPARK_MAX ? width : SPARK_MAX;
	if (width < 0)
		width = 0;
	if (n > width) {
		ns += n - width;
		n = width;
	}
	*s = (struct spark){.ns = ns, .n = n};
	if (n <= 0)
		return;
	memcpy(sorted, ns, (size_t)n * sizeof(*ns));
	qsort(sorted, (size_t)n, sizeof(*sorted), spark_order);
	median = sorted[n / 2];
	for (int i = 0; i < n; i++)
		away[i] = sorted[i] > median ? sorted[i] - median : median - sorted[i];
	qsort(away, (size_t)n, sizeof(*away), spark_order);
	/* The top of the scale is at most ten median absolute deviations above the median, or half
	 * the median if the steps are steady: a higher top would flatten the other columns. */
	limit = 10 * away[n / 2] > median / 2 ? 10 * away[n / 2] : median / 2;
	s->high_ns = median;
	for (int i = n - 1; i >= 0; i--)
		if (sorted[i] <= median + limit) {
			s->high_ns = sorted[i];
			break;
		}
	s->low_ns = sorted[0];
	least = median / 10;
	if (s->high_ns - s->low_ns < least) {
		s->high_ns = median + least / 2 > s->high_ns ? median + least / 2 : s->high_ns;
		s->low_ns = s->high_ns - least < s->low_ns ? s->high_ns - least : s->low_ns;
	}
	if (s->low_ns < s->high_ns / 2)
		s->low_ns = 0;
}

static int spark_level(const struct spark *s, uint64_t ns, int levels)
{
	double span = (double)(s->high_ns - s->low_ns);

	if (ns <= s->low_ns || span <= 0)
		return 1;
	if (ns >= s->high_ns) /* for very high values, the formula below would overflow an int */
		return levels;
	return 1 + (int)((double)(ns - s->low_ns) / span * (levels - 1) + 0.5);
}

void spark_row(struct canvas *c, const struct spark *s, int row, int rows)
{
	static const char *const block[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	char run[SPARK_MAX * 4 + 1];
	size_t len = 0;
	bool high = false;

	for (int i = 0; i < s->n; i++) {
		bool outlier = s->ns[i] > s->high_ns;
		int level = spark_level(s, s->ns[i], rows * 8) - (rows - 1 - row) * 8;
		const char *glyph = outlier && !row ? "▲"
						    : block[outlier || level > 8 ? 8
							    : level < 0		 ? 0
										 : level];

		if (outlier != high) {
			canvas_put(c, high ? STYLE_RED : STYLE_CYAN, "%.*s", (int)len, run);
			len = 0;
		}
		high = outlier;
		len += (size_t)snprintf(run + len, sizeof(run) - len, "%s", glyph);
	}
	canvas_put(c, high ? STYLE_RED : STYLE_CYAN, "%.*s", (int)len, run);
}
