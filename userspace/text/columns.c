/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/text/columns.h"

#include <stdint.h>
#include <string.h>

#include "userspace/base/utf8.h"
#include "userspace/text/canvas.h"

static int columns_width_of(const struct column *c, int n)
{
	int width = 0;

	for (int i = 0; i < n; i++)
		width += c[i].width ? c[i].width + (width > 0) : 0;
	return width;
}

void columns_fit(struct column *c, int n, const struct column_way *ways, int nways, int cols)
{
	for (int i = 0; i < n; i++)
		c[i].whole = !cols;
	for (int i = 0; cols && i < nways; i++) {
		struct column *way = &c[ways[i].column];
		int over = columns_width_of(c, n) - cols;

		if (over <= 0)
			return;
		if (!ways[i].least)
			way->width = 0;
		else if (way->width - over > ways[i].least)
			way->width -= over;
		else if (way->width > ways[i].least)
			way->width = ways[i].least;
	}
}

static void columns_put_char(struct buffer *out, const char *at, size_t len, uint32_t c)
{
	if (!len || utf8_columns(c) < 0)
		buffer_add(out, "?", 1);
	else
		buffer_add(out, at, len);
}

/* Appends the part of the text that fits. Returns its width in columns. */
static int columns_put_text(struct buffer *out, const char *text, int room)
{
	size_t len = strlen(text), n;
	bool cut = canvas_width(text) > room;
	int used = 0, wide;
	uint32_t c;

	for (; len; text += n ? n : 1, len -= n ? n : 1, used += wide) {
		n = utf8_decode(text, len, &c);
		wide = !n || utf8_columns(c) < 0 ? 1 : utf8_columns(c);
		if (used + wide > room - cut)
			break;
		columns_put_char(out, text, n, c);
	}
	if (cut)
		buffer_add(out, "~", 1);
	return used + cut;
}

void columns_row(struct buffer *out, const struct column *c, int n, const char *const *cells)
{
	int owed = 0; /* spaces not written yet, so that no line ends with spaces */

	for (int i = 0; i < n; i++) {
		const char *text = cells ? cells[i] : c[i].head;
		int wide, used;

		if (!c[i].width)
			continue;
		wide = canvas_width(text);
		if (c[i].right && wide < c[i].width)
			owed += c[i].width - wide;
		if (*text)
			buffer_printf(out, "%*s", owed, "");
		owed = *text ? 0 : owed;
		used = columns_put_text(out, text,
					c[i].whole && wide > c[i].width ? wide : c[i].width);
		owed += 1;
		if (used < c[i].width && !(c[i].right && wide < c[i].width))
			owed += c[i].width - used;
	}
	buffer_add(out, "\n", 1);
}
