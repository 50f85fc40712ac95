/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - prints a table with one line for each row; columns shrink or disappear on a narrow
 * terminal. Pure. All text is made safe: control characters and invalid UTF-8 become '?'. A text
 * that is too wide is cut, and ends in '~'. */
#ifndef TEXT_COLUMNS_H
#define TEXT_COLUMNS_H

#include <stdbool.h>

#include "userspace/base/buffer.h"

struct column {
	const char *head;
	int width; /* 0: hidden */
	bool right;
	/* set by columns_fit() if the table has no width limit: do not cut wide texts */
	bool whole;
};

/* A step by which columns_fit() makes a table narrower: the column gets the width `least`; 0 hides
 * it. */
struct column_way {
	int column, least;
};

/* Narrows the table by the steps in `ways`, in order, until it is at most cols wide. cols 0: no
 * limit, texts are not cut. */
void columns_fit(struct column *c, int n, const struct column_way *ways, int nways, int cols);
/* Prints a row, with a space between columns; cells NULL: the heads of the columns. */
void columns_row(struct buffer *out, const struct column *c, int n, const char *const *cells);

#endif
