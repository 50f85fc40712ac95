/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h - builds lines of text that never exceed the terminal's width, with or without colour.
 * All text is made safe: control characters and invalid UTF-8 become '?'. Spaces at the end of a
 * line are not written. Each line has an importance: canvas_finish() drops the least important
 * lines if there are too many. */
#ifndef TEXT_CANVAS_H
#define TEXT_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_RED,
	STYLE_BLUE,
	STYLE_MAGENTA,
	STYLE_CYAN,
	STYLE_COUNT
};

#define CANVAS_LINES 256

struct canvas {
	struct buffer text;
	int cols;
	bool color;
	int col;	 /* column of the next character */
	int pad;	 /* spaces not yet written */
	int indent;	 /* column at which a wrapped line continues; 0: lines are cut */
	size_t break_at; /* offset of the spaces before the last word of the line; 0: none */
	int break_pad, break_col; /* number of these spaces; column where the last word begins */
	int importance;		  /* importance of the current line; 0: the line is never dropped */
	size_t start[CANVAS_LINES]; /* offset of each line in text */
	int weight[CANVAS_LINES];
	int lines;
};

void canvas_open(struct canvas *c, int cols, bool color);
/* Makes lines that are too long continue on the next line, at column `indent`, instead of being
 * cut. Applies to all lines that follow. */
void canvas_wrap(struct canvas *c, int indent);
/* Returns where column `col` of a layout for `cols` columns is on this canvas: further left if the
 * canvas is narrower. */
int canvas_scaled(const struct canvas *c, int col, int cols);
/* Ends the current line and begins a new one of this importance. */
void canvas_line(struct canvas *c, int importance);
void canvas_put(struct canvas *c, enum style st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void canvas_at(struct canvas *c,
	       int col); /* moves right to that column, unless the line is longer already */
void canvas_right(struct canvas *c, int col, enum style st,
		  const char *text); /* right-aligned before column col if possible */
/* Draws a bar of `cells` columns for a share from 0 to 1; smaller and larger shares count as 0 and
 * 1. */
void canvas_bar(struct canvas *c, enum style st, int cells, double share);
/* Appends at most `rows` lines to out, each ended by a line feed, and frees the canvas. */
void canvas_finish(struct canvas *c, struct buffer *out, int rows);

/* Appends all lines to out and empties the canvas: for texts of more than CANVAS_LINES lines. */
void canvas_flush(struct canvas *c, struct buffer *out);

/* Returns the number of columns that text takes on a terminal. */
int canvas_width(const char *text);

#endif
