/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - a table of one line a row, whose columns give way to a narrow terminal. Pure.
 *
 * Whatever is put is safe to show: controls and broken UTF-8 become '?'. A text that is too wide
 * for a terminal is cut, which shows as '~' at its end. */
#ifndef TEXT_COLUMNS_H
#define TEXT_COLUMNS_H

#include <stdbool.h>

#include "userspace/base/buffer.h"

struct column {
	const char *head;
	int width; /* 0: it is not shown */
	bool right;
	bool whole; /* a wider text is not cut, what follows it in the row moves; columns_fit() sets
		       it */
};

struct column_way { /* how a column gives way: it gets narrower, down to so much; 0: it goes */
	int column, least;
};

/* Ways are gone in their order until the table is no wider than cols; cols 0: there is no bound,
 * and no text is cut. */
void columns_fit(struct column *c, int n, const struct column_way *ways, int nways, int cols);
/* A line, a space between columns; cells NULL: the heads. */
void columns_row(struct buffer *out, const struct column *c, int n, const char *const *cells);

#endif
