/* SPDX-License-Identifier: Apache-2.0 */
/* spark.h - step times as columns of block characters. Pure. */
#ifndef TEXT_SPARK_H
#define TEXT_SPARK_H

#include <stdint.h>

#include "userspace/text/canvas.h"

struct spark {
	const uint64_t *ns;
	int n;
	uint64_t low_ns, high_ns; /* bottom and top of the scale; what is above is an outlier */
};

/* The last `width` of the n values, at most 128. Scale: from zero where the times differ much, else
 * around them, but never under a tenth of the median, so that noise looks like noise. */
void spark_scale(struct spark *s, const uint64_t *ns, int n, int width);
/* Row `row` of `rows`, 0 on top. Outliers end in a red triangle. */
void spark_row(struct canvas *c, const struct spark *s, int row, int rows);

#endif
