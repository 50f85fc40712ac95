/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/text/canvas.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/utf8.h"

static const char *const style_code[STYLE_COUNT] = {
	[STYLE_BOLD] = "1", [STYLE_DIM] = "2",	 [STYLE_GREEN] = "32",	 [STYLE_YELLOW] = "33",
	[STYLE_RED] = "31", [STYLE_BLUE] = "34", [STYLE_MAGENTA] = "35", [STYLE_CYAN] = "36",
};

void canvas_open(struct canvas *c, int cols, bool color)
{
	*c = (struct canvas){.cols = cols, .color = color};
}

void canvas_wrap(struct canvas *c, int indent)
{
	c->indent = indent;
}

int canvas_scaled(const struct canvas *c, int col, int cols)
{
	return c->cols < cols ? col * c->cols / cols : col;
}

void canvas_line(struct canvas *c, int importance)
{
	if (c->lines)
		buffer_add(&c->text, "\n", 1);
	if (c->lines == CANVAS_LINES) /* canvas is full: further lines overwrite the last one */
		c->text.len = c->start[--c->lines];
	c->start[c->lines] = c->text.len;
	c->weight[c->lines] = importance;
	c->lines++;
	c->col = c->pad = 0;
	c->break_at = 0;
}

static void canvas_pad(struct canvas *c)
{
	static const char spaces[] = "                ";

	for (int n; c->pad; c->pad -= n) {
		n = c->pad < (int)sizeof(spaces) - 1 ? c->pad : (int)sizeof(spaces) - 1;
		buffer_add(&c->text, spaces, (size_t)n);
	}
}

/* Appends a character. Spaces are kept back until another character follows, so that no line ends
 * with spaces. */
static void canvas_char(struct canvas *c, const char *s, size_t len, int width, const char *code,
			bool *open)
{
	c->col += width;
	if (len == 1 && *s == ' ') {
		c->pad++;
		return;
	}
	if (c->pad) {
		c->break_at = c->text.len;
		c->break_pad = c->pad;
		c->break_col = c->col - width;
	}
	canvas_pad(c);
	if (code && !*open)
		buffer_printf(&c->text, "\033[%sm", code);
	*open = code;
	buffer_add(&c->text, s, len);
}

int canvas_width(const char *text)
{
	size_t len = strlen(text), n;
	int width = 0, w;
	uint32_t c;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		w = n ? utf8_columns(c) : -1;
		width += w < 0 ? 1 : w;
		n = n ? n : 1;
	}
	return width;
}

/* Moves the last word to a new line; a word that fills a whole line is divided. */
static void canvas_continue(struct canvas *c)
{
	size_t from = c->break_at + (size_t)c->break_pad, len = c->text.len - from;
	char *word = NULL;

	if (!c->pad && c->break_at && c->break_col > c->indent)
		word = malloc(len + 1);
	if (!word) {
		buffer_add(&c->text, "\n", 1);
		c->col = c->pad = c->indent;
		c->break_at = 0;
		return;
	}
	memcpy(word, c->text.data + from, len);
	c->text.len = c->break_at;
	buffer_add(&c->text, "\n", 1);
	c->pad = c->indent;
	canvas_pad(c);
	buffer_add(&c->text, word, len);
	c->col += c->indent - c->break_col;
	c->break_at = 0;
	free(word);
}

static void canvas_text(struct canvas *c, enum style st, const char *text)
{
	const char *code = c->color ? style_code[st] : NULL, *from;
	bool open = false, cut = !c->indent && c->col + canvas_width(text) > c->cols;
	size_t len = strlen(text), n;
	uint32_t ch;
	int width;

	for (size_t i = 0; i < len; i += n) {
		from = text + i;
		n = utf8_decode(from, len - i, &ch);
		width = n ? utf8_columns(ch) : -1;
		if (!c->indent && c->col + (width < 0 ? 1 : width) > c->cols - cut)
			break;
		if (c->indent && c->col + (width < 0 ? 1 : width) > c->cols && *from != ' ')
			canvas_continue(c);
		if (width < 0)
			canvas_char(c, "?", 1, 1, code, &open);
		else
			canvas_char(c, from, n, width, code, &open);
		n = n ? n : 1;
	}
	if (cut && c->col < c->cols)
		canvas_char(c, "…", strlen("…"), 1, code, &open);
	if (open)
		buffer_add(&c->text, "\033[0m", 4);
}

void canvas_put(struct canvas *c, enum style st, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	canvas_text(c, st, text);
}

void canvas_at(struct canvas *c, int col)
{
	if (col > c->cols)
		col = c->cols;
	if (col <= c->col)
		return;
	c->pad += col - c->col;
	c->col = col;
}

void canvas_right(struct canvas *c, int col, enum style st, const char *text)
{
	int at = col - canvas_width(text);

	if (*text && at <= c->col && c->col && !c->pad)
		at = c->col + 1;
	canvas_at(c, at);
	canvas_text(c, st, text);
}

/* Draws the bar in eighths of a cell, so that one percent is visible. */
void canvas_bar(struct canvas *c, enum style st, int cells, double share)
{
	static const char *const eighth[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int n = cells > 0 && share > 0 ? (int)((share < 1 ? share : 1) * cells * 8 + 0.5) : 0;

	for (; n >= 8; n -= 8)
		canvas_put(c, st, "█");
	canvas_put(c, st, "%s", eighth[n]);
}

/* Returns the line to drop next: the last one of the least important lines. -1: no line may be
 * dropped. */
static int canvas_least(const struct canvas *c)
{
	int least = -1;

	for (int i = 0; i < c->lines; i++)
		if (c->weight[i] != INT_MIN && (least < 0 || c->weight[i] >= c->weight[least]))
			least = i;
	return least;
}

void canvas_finish(struct canvas *c, struct buffer *out, int rows)
{
	int kept = c->lines, least;

	if (c->lines)
		buffer_add(&c->text, "\n", 1);
	for (; kept > rows; kept--) {
		least = canvas_least(c);
		if (least < 0)
			break;
		c->weight[least] = INT_MIN;
	}
	for (int i = 0; i < c->lines && !c->text.failed; i++) {
		size_t end = i + 1 < c->lines ? c->start[i + 1] : c->text.len;

		if (c->weight[i] != INT_MIN)
			buffer_add(out, c->text.data + c->start[i], end - c->start[i]);
	}
	out->failed |= c->text.failed;
	buffer_free(&c->text);
}

void canvas_flush(struct canvas *c, struct buffer *out)
{
	int cols = c->cols, indent = c->indent;
	bool color = c->color;

	canvas_finish(c, out, INT_MAX);
	canvas_open(c, cols, color);
	canvas_wrap(c, indent);
}
