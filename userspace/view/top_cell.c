/* SPDX-License-Identifier: Apache-2.0 */
/* top_cell.c - draws cells of the tables in gp-bpf top. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "userspace/text/spark.h"
#include "userspace/view/top_frame.h"

#define NS_PER_S 1000000000ull
#define BAR_WIDE 60
#define MARGIN	 2 /* columns on the left, for the selection mark and a space */

const char *const top_mark_name[TOP_MARKS] = {"hung", "silent", "straggler", "slow"};

static const char *top_cell_last_part(const char *path, size_t *len)
{
	for (size_t i = *len; i-- > 0;) {
		if (path[i] != '/' || i + 1 == *len)
			continue;
		*len -= i + 1;
		return path + i + 1;
	}
	return path;
}

/* Returns the script if the program is an interpreter, otherwise the program: "train.py" for
 * "/opt/venv/bin/python3 -u train.py --lr 1e-4". */
const char *top_program(const char *command, size_t *ret_len)
{
	const char *name = command, *at = command;
	bool module = false;

	*ret_len = strcspn(at, " ");
	name = top_cell_last_part(at, ret_len);
	if (strncmp(name, "python", 6) != 0)
		return name;
	for (at += strcspn(at, " "); *(at += strspn(at, " ")); at += strcspn(at, " ")) {
		size_t len = strcspn(at, " ");

		if (*at == '-' && !module) {
			module = len == 2 && at[1] == 'm';
			continue;
		}
		*ret_len = len;
		return module ? at : top_cell_last_part(at, ret_len);
	}
	return name;
}

const char *top_job_name(char *out, size_t len, const struct top_state *s, const struct top_job *j)
{
	const struct top_rank *r = j->ranks ? &s->ranks[j->first] : NULL;
	const char *program;
	size_t n;

	if (*j->name || !r) {
		snprintf(out, len, "%s", *j->name ? j->name : "?");
		return out;
	}
	program = top_program(*r->command ? r->command : r->comm, &n);
	snprintf(out, len, "%.*s%spid %u", (int)n, program, n ? " " : "", r->pid);
	return out;
}

const char *top_clock(char out[WORD_MAX], const struct top_state *s, uint64_t mono_ns)
{
	int64_t s_ago = ((int64_t)s->mono_ns - (int64_t)mono_ns) / (int64_t)NS_PER_S;
	time_t t = (time_t)(s->real_ns / (int64_t)NS_PER_S - s_ago);
	struct tm tm;

	if (!s->real_ns || !localtime_r(&t, &tm))
		return "--:--:--";
	strftime(out, WORD_MAX, "%H:%M:%S", &tm);
	return out;
}

int top_parts(struct part parts[BUCKET_COUNT], const struct top_time *t)
{
	int n = 0, at;

	for (int i = 0; i < BUCKETS_EXPORTED; i++) {
		struct part p = {i, t->ns[i], bucket_label[i]};

		if (!p.ns || i == BUCKET_UNOBSERVED)
			continue;
		if (i == BUCKET_CUSTOM && *t->custom)
			p.label = t->custom;
		for (at = n++; at && p.id != BUCKET_GOODPUT && parts[at - 1].id != BUCKET_GOODPUT &&
			       parts[at - 1].ns < p.ns;
		     at--)
			parts[at] = parts[at - 1];
		for (; p.id == BUCKET_GOODPUT && at; at--)
			parts[at] = parts[at - 1];
		parts[at] = p;
	}
	return n;
}

void top_bar(struct canvas *c, const struct top_time *t, int width)
{
	struct part parts[BUCKET_COUNT];
	int cells[BUCKET_COUNT], n = top_parts(parts, t);

	if (width <= 0)
		return;
	/* In a narrow bar, omit parts of less than half a cell: with a cell for each, large parts
	 * would get none. */
	for (int i = 0; width < BAR_WIDE && i < n; i++)
		if (parts[i].ns < t->observed_ns / 2 / (uint64_t)width)
			parts[i].ns = 0;
	text_apportion(parts, n, width, cells);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < cells[i]; k++)
			canvas_put(c, part_style[parts[i].id].style, "%s",
				   part_style[parts[i].id].glyph);
}

const char *top_ratio(char out[WORD_MAX], double ratio)
{
	return ratio < 0 ? "-" : text_percent(out, (uint64_t)(ratio * 1e9), 1000000000);
}

enum style top_ratio_style(double ratio)
{
	return ratio < 0     ? STYLE_DIM
	       : ratio < 0.5 ? STYLE_RED
	       : ratio < 0.8 ? STYLE_YELLOW
			     : STYLE_GREEN;
}

int top_column_at(const struct column *col, int i)
{
	int at = MARGIN;

	for (int k = 0; k < i; k++)
		at += col[k].width ? col[k].width + 1 : 0;
	return at;
}

void top_cell(struct canvas *c, const struct column *col, int i, enum style st, const char *text)
{
	int left = top_column_at(col, i), cols = c->cols, wide = canvas_width(text);

	if (!col[i].width)
		return;
	canvas_at(c, left);
	c->cols = left + col[i].width < cols
			  ? left + col[i].width
			  : cols; /* cut the text at the column's width and at the terminal's */
	if (col[i].right && wide < col[i].width)
		canvas_at(c, left + col[i].width - wide);
	canvas_put(c, st, "%s", text);
	c->cols = cols;
}

void top_heads(struct canvas *c, const struct column *col, int n, int sorted)
{
	canvas_line(c, 0);
	for (int i = 0; i < n; i++)
		top_cell(c, col, i, i == sorted ? STYLE_BOLD : STYLE_DIM, col[i].head);
}

void top_spark(struct canvas *c, const struct column *col, int i, const struct top_rank *r)
{
	int left = top_column_at(col, i), cols = c->cols, width = col[i].width;
	struct spark sp;

	if (!width || !r || r->recent < 2)
		return;
	canvas_at(c, left);
	c->cols = left + width < cols ? left + width : cols;
	spark_scale(&sp, r->recent_ns, (int)r->recent, width);
	spark_row(c, &sp, 0, 1);
	c->cols = cols;
}

void top_rows_shown(uint32_t n, uint32_t at, uint32_t room, uint32_t *ret_first, uint32_t *ret_end)
{
	uint32_t first = at < room / 2 ? 0 : at - room / 2;

	if (first + room > n)
		first = n > room ? n - room : 0;
	*ret_first = first;
	*ret_end = first + room < n ? first + room : n;
}
