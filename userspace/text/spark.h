/* SPDX-License-Identifier: Apache-2.0 */
/* spark.h - draws step times as columns of block characters. Pure. */
#ifndef TEXT_SPARK_H
#define TEXT_SPARK_H

#include <stdint.h>

#include "userspace/text/canvas.h"

struct spark {
	const uint64_t *ns;
	int n;
	/* bottom and top of the scale; higher values are drawn as outliers */
	uint64_t low_ns, high_ns;
};

/* Makes a scale for the last `width` of the n values, at most 128. The scale begins at zero if the
 * times differ much; otherwise it spans the range of the times, but at least a tenth of the median,
 * so that small variation does not look large. */
void spark_scale(struct spark *s, const uint64_t *ns, int n, int width);
/* Draws row `row` of `rows`; 0 is the top. Outliers end in a red triangle. */
void spark_row(struct canvas *c, const struct spark *s, int row, int rows);

#endif
