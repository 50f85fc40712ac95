/* SPDX-License-Identifier: Apache-2.0 */
/* top_frame_job.c - draws a frame of gp-bpf top with one job and its ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/view/top_frame.h"

enum {
	COL_RANK,
	COL_PID,
	COL_NODE,
	COL_STATE,
	COL_STEP,
	COL_LAST,
	COL_P50,
	COL_P99,
	COL_TREND,
	COL_GOODPUT,
	COL_WAIT,
	COL_TROUBLE,
	COLS
};

#define LEGEND 4 /* number of parts of the bar that the legend names */

static void top_frame_job_ranks_columns(struct column col[COLS], int cols)
{
	static const struct column whole[COLS] = {
		[COL_RANK] = {.head = "RANK", .width = 5, .right = true},
		[COL_PID] = {.head = "PID", .width = 7, .right = true},
		[COL_NODE] = {.head = "NODE", .width = 28},
		[COL_STATE] = {.head = "STATE", .width = 8},
		[COL_STEP] = {.head = "STEP", .width = 8, .right = true},
		[COL_LAST] = {.head = "LAST", .width = 8, .right = true},
		[COL_P50] = {.head = "P50", .width = 8, .right = true},
		[COL_P99] = {.head = "P99", .width = 8, .right = true},
		[COL_TREND] = {.head = "STEP TIMES", .width = 40},
		[COL_GOODPUT] = {.head = "GOODPUT", .width = 7, .right = true},
		[COL_WAIT] = {.head = "WAITS", .width = 6, .right = true},
		[COL_TROUBLE] = {.head = "TROUBLE", .width = 26},
	};
	static const struct column_way ways[] = {
		{COL_TREND, 16},  {COL_NODE, 12}, {COL_TROUBLE, 17}, {COL_TREND, 8},
		{COL_NODE, 0},	  {COL_TREND, 0}, {COL_PID, 0},	     {COL_TROUBLE, 9},
		{COL_P99, 0},	  {COL_WAIT, 0},  {COL_LAST, 0},     {COL_STATE, 0},
		{COL_TROUBLE, 4}, {COL_STEP, 0},  {COL_P50, 0},	     {COL_TROUBLE, 0},
	};

	memcpy(col, whole, sizeof(whole));
	columns_fit(col, COLS, ways, sizeof(ways) / sizeof(ways[0]), cols > 3 ? cols - 2 : 1);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void top_frame_job_line(struct canvas *c, const struct top_state *s, const struct top_job *j)
{
	char name[256];

	canvas_line(c, 3);
	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "job ");
	canvas_put(c, STYLE_BOLD, "%.*s", c->cols / 2, top_job_name(name, sizeof(name), s, j));
	canvas_put(c, !strcmp(j->state, "down") ? STYLE_RED : STYLE_PLAIN,
		   "  %s, run %llu, step %llu", j->state, (unsigned long long)j->runs,
		   (unsigned long long)j->step);
	canvas_put(c, STYLE_DIM, "   disruptions ");
	canvas_put(c, j->disruptions ? STYLE_RED : STYLE_PLAIN, "%llu",
		   (unsigned long long)j->disruptions);
	if (j->futile >= JOB_FUTILE)
		canvas_put(c, STYLE_RED, "   crash loop: %llu runs", (unsigned long long)j->futile);
}

static void top_frame_job_time(struct canvas *c, const struct top_job *j)
{
	struct part parts[BUCKET_COUNT];
	int n = top_parts(parts, &j->time);
	char text[WORD_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "goodput %s", top_ratio(text, top_goodput(&j->time)));
	canvas_put(c, STYLE_DIM, " of %s observed", text_duration(text, j->time.observed_ns));
	for (uint32_t i = 0; i < j->nwindows; i++)
		if (j->windows[i].ratio >= 0)
			canvas_put(c, STYLE_DIM, "%s%s %s", i ? ", " : "; ", j->windows[i].name,
				   top_ratio(text, j->windows[i].ratio));
	canvas_line(c, 1);
	top_bar(c, &j->time, c->cols);
	canvas_line(c, 2);
	for (int i = 0; i < n && i < LEGEND; i++) {
		canvas_put(c, part_style[parts[i].id].style, "%s", part_style[parts[i].id].glyph);
		canvas_put(c, STYLE_PLAIN, " %s ", parts[i].label);
		canvas_put(c, STYLE_DIM, "%s   ",
			   text_percent(text, parts[i].ns, j->time.observed_ns));
	}
}

static void job_last_disruptions(struct canvas *c, const struct top_state *s,
				 const struct top_job *j, uint32_t most)
{
	uint32_t first = j->nlast_disruptions > most ? j->nlast_disruptions - most : 0;
	char when[WORD_MAX], wasted[WORD_MAX], took[WORD_MAX];

	for (uint32_t i = first; i < j->nlast_disruptions; i++) {
		const struct top_disruption *f = &j->last_disruptions[i];

		canvas_line(c, 2);
		canvas_put(c, STYLE_DIM, "%s  ", top_clock(when, s, f->at_ns));
		canvas_put(c, STYLE_RED, "%s%s%s", f->cause, *f->fault ? " " : "", f->fault);
		if (f->rank >= 0)
			canvas_put(c, STYLE_PLAIN, ", rank %lld", (long long)f->rank);
		if (f->step)
			canvas_put(c, STYLE_PLAIN, ", after step %llu",
				   (unsigned long long)f->step);
		if (f->over)
			canvas_put(c, STYLE_PLAIN, ": wasted %s, recovery %s",
				   clock_duration(wasted, WORD_MAX, f->wasted_ns),
				   clock_duration(took, WORD_MAX, f->recovery_ns));
		else
			canvas_put(c, STYLE_RED, ": not over");
	}
}

/* ---- its ranks ------------------------------------------------------------------------------- */

static const char *top_frame_job_rank_fate(char *out, size_t len, const struct top_rank *r)
{
	if (r->signal > 0)
		snprintf(out, len, "signal %lld", (long long)r->signal);
	else if (r->exit_code > 0)
		snprintf(out, len, "exit %lld", (long long)r->exit_code);
	else
		snprintf(out, len, "%s", r->exit_code ? "gone" : "finished");
	return out;
}

static void top_frame_job_rank_trouble(const struct top_rank *r, char *out, size_t len)
{
	char took[WORD_MAX];
	size_t at = 0;

	*out = '\0';
	for (int k = 0; k < TOP_MARKS && at < len; k++) {
		if (!(r->marks & 1u << k))
			continue;
		at += (size_t)snprintf(out + at, len - at, "%s%s", at ? ", " : "",
				       top_mark_name[k]);
		if (1u << k == TOP_SLOW && r->slow_ratio >= 1.005 && at < len)
			at += (size_t)snprintf(out + at, len - at, " %+.0f %%",
					       100 * (r->slow_ratio - 1));
		else if (1u << k != TOP_SLOW && r->mark_ns && at < len)
			at += (size_t)snprintf(out + at, len - at, " %s",
					       clock_duration(took, WORD_MAX, r->mark_ns));
	}
}

static void top_frame_job_rank_times(struct canvas *c, const struct top_state *s,
				     const struct top_rank *r, const struct column *col,
				     enum style plain)
{
	char text[WORD_MAX];
	uint64_t ago = s->mono_ns > r->last_end_ns ? s->mono_ns - r->last_end_ns : 0;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)r->step);
	top_cell(c, col, COL_STEP, plain, r->count ? text : "-");
	top_cell(c, col, COL_LAST, plain,
		 r->last_end_ns ? clock_duration(text, WORD_MAX, ago) : "-");
	top_cell(c, col, COL_P50, plain,
		 r->count ? clock_duration(text, WORD_MAX, r->p50_ns) : "-");
	top_cell(c, col, COL_P99, plain,
		 r->count ? clock_duration(text, WORD_MAX, r->p99_ns) : "-");
	top_spark(c, col, COL_TREND, r);
}

static void top_frame_rank_row(struct canvas *c, const struct top_state *s,
			       const struct top_rank *r, const struct column *col, bool chosen)
{
	enum style plain = !r->alive ? STYLE_DIM : chosen ? STYLE_BOLD : STYLE_PLAIN;
	double goodput = top_goodput(&r->time), whole = (double)r->mean_ns * (double)r->count;
	char text[64];

	canvas_line(c, chosen ? 0 : 2);
	canvas_put(c, STYLE_BOLD, chosen ? ">" : " ");
	snprintf(text, sizeof(text), "%lld", (long long)r->rank);
	top_cell(c, col, COL_RANK, plain, r->rank < 0 ? "-" : text);
	snprintf(text, sizeof(text), "%u", r->pid);
	top_cell(c, col, COL_PID, plain, text);
	top_cell(c, col, COL_NODE, plain, *r->node ? r->node : s->node);
	top_cell(c, col, COL_STATE, !strcmp(r->state, "locked") && r->alive ? STYLE_GREEN : plain,
		 r->alive ? r->state : top_frame_job_rank_fate(text, sizeof(text), r));
	top_frame_job_rank_times(c, s, r, col, plain);
	top_cell(c, col, COL_GOODPUT, top_ratio_style(goodput), top_ratio(text, goodput));
	top_cell(c, col, COL_WAIT, plain,
		 r->wait_known && whole > 0 ? top_ratio(text, (double)r->wait_ns / whole) : "-");
	top_frame_job_rank_trouble(r, text, sizeof(text));
	top_cell(c, col, COL_TROUBLE, r->marks == TOP_SILENT ? STYLE_YELLOW : STYLE_RED, text);
}

/* Shows all details of the selected rank. */
static void top_frame_job_rank_detail(struct canvas *c, const struct top_state *s,
				      const struct top_rank *r)
{
	char when[WORD_MAX], text[64];

	canvas_line(c, 3);
	canvas_line(c, 1);
	if (r->rank >= 0)
		canvas_put(c, STYLE_BOLD, "rank %lld  ", (long long)r->rank);
	canvas_put(c, STYLE_BOLD, "pid %u", r->pid);
	if (*r->pod)
		canvas_put(c, STYLE_CYAN, "  pod %s", r->pod);
	if (*r->marker)
		canvas_put(c, STYLE_DIM, "  by %s", r->marker);
	canvas_put(c, STYLE_PLAIN, "  %s", *r->command ? r->command : r->comm);
	if (r->marks) {
		canvas_line(c, 1);
		top_frame_job_rank_trouble(r, text, sizeof(text));
		canvas_put(c, STYLE_RED, "%s%s%s", text, *r->why ? ": " : "", r->why);
		if (*r->evidence)
			canvas_put(c, STYLE_DIM, "  %s", r->evidence);
	}
	for (uint32_t i = 0; i < r->nevents; i++) {
		canvas_line(c, i + 1 == r->nevents ? 1 : 2);
		canvas_put(c, STYLE_DIM, "%s  ", top_clock(when, s, r->events[i].mono_ns));
		canvas_put(c, STYLE_PLAIN, "%s", r->events[i].text);
	}
}

static void top_frame_job_ranks_sorted(struct canvas *c, const struct top_ui *ui, uint32_t first,
				       uint32_t end, uint32_t n)
{
	canvas_line(c, 1);
	canvas_put(c, STYLE_DIM, "sorted by %s%s", top_rank_sorts[ui->rank_sort].name,
		   ui->rank_reverse ? ", reversed" : "");
	if (end - first < n)
		canvas_put(c, STYLE_DIM, "   %u to %u of %u", first + 1, end, n);
}

void top_frame_job(struct canvas *c, const struct top_state *s, const struct top_ui *ui,
		   const struct top_job *j, int rows, struct buffer *out)
{
	static const int sorted[TOP_RANK_SORT_COUNT] = {
		[TOP_RANK_RANK] = COL_RANK,	  [TOP_RANK_PID] = COL_PID,
		[TOP_RANK_NODE] = COL_NODE,	  [TOP_RANK_STATE] = COL_STATE,
		[TOP_RANK_STEP] = COL_STEP,	  [TOP_RANK_LAST] = COL_LAST,
		[TOP_RANK_TIME] = COL_P50,	  [TOP_RANK_P99] = COL_P99,
		[TOP_RANK_GOODPUT] = COL_GOODPUT, [TOP_RANK_WAIT] = COL_WAIT,
		[TOP_RANK_TROUBLE] = COL_TROUBLE};
	uint32_t *order = malloc(TOP_RANKS * sizeof(*order)), n, at, first, end;
	int room = rows ? rows - 22 : TOP_RANKS;
	struct column col[COLS];

	top_frame_job_line(c, s, j);
	top_frame_job_time(c, j);
	job_last_disruptions(c, s, j, 2);
	if (!order)
		return;
	n = top_ranks_order(s, j, ui, order);
	at = top_rank_at(s, ui, order, n);
	room = room < rows / 3 ? rows / 3 : room;
	top_rows_shown(n, at, room < 3 ? 3 : (uint32_t)room, &first, &end);
	top_frame_job_ranks_sorted(c, ui, first, end, n);
	top_frame_job_ranks_columns(col, c->cols);
	top_heads(c, col, COLS, sorted[ui->rank_sort]);
	for (uint32_t i = first; i < end; i++) {
		top_frame_rank_row(c, s, &s->ranks[order[i]], col, rows && i == at);
		if (!rows)
			canvas_flush(c, out);
	}
	if (rows && n)
		top_frame_job_rank_detail(c, s, &s->ranks[order[at]]);
	free(order);
}
