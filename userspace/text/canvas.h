/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h - lines of text that never get wider than the terminal, with or without colour.
 *
 * Whatever is put is safe to show: control characters and broken UTF-8 become '?'. Spaces at the
 * end of a line are not written. Each line carries a rank: canvas_finish() drops the least
 * important lines when there are more than fit. */
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
	int col;		  /* where the next character goes */
	int pad;		  /* spaces not yet written */
	int indent;		  /* where a line that is too long continues; 0: it is cut */
	size_t break_at;	  /* of the last word of the line: the spaces before it; 0: none */
	int break_pad, break_col; /* how many these are; where that word begins */
	int importance;		  /* of the line being made: 0 must stay */
	size_t start[CANVAS_LINES]; /* of each line in text */
	int weight[CANVAS_LINES];
	int lines;
};

void canvas_open(struct canvas *c, int cols, bool color);
/* From here on a line that is too long continues on the next one, at that column, instead of being
 * cut. */
void canvas_wrap(struct canvas *c, int indent);
/* A column of a layout for so many columns: moved to the left where the canvas is narrower. */
int canvas_scaled(const struct canvas *c, int col, int cols);
void canvas_line(struct canvas *c, int importance); /* starts a line; ends the one before */
void canvas_put(struct canvas *c, enum style st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void canvas_at(struct canvas *c, int col); /* moves right to that column, if it lies there */
void canvas_right(struct canvas *c, int col, enum style st,
		  const char *text); /* ends before col, if it can */
/* Appends at most rows lines to out, each ended by a line feed, and frees the canvas. */
void canvas_finish(struct canvas *c, struct buffer *out, int rows);

/* Appends all lines to out and starts anew: for texts longer than CANVAS_LINES. */
void canvas_flush(struct canvas *c, struct buffer *out);

/* Columns that text takes when put. */
int canvas_width(const char *text);

#endif
