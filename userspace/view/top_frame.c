/* SPDX-License-Identifier: Apache-2.0 */
/* top_frame.c - draws a frame of gp-bpf top: head, jobs, keys. */
#include "userspace/view/top_frame.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"

#define ROWS_MAX 200 /* limit of a frame's rows, so that it fits into a canvas */

enum {
	COL_JOB,
	COL_STATE,
	COL_RANKS,
	COL_STEP,
	COL_TIME,
	COL_TREND,
	COL_GOODPUT,
	COL_BAR,
	COL_BADPUT,
	COL_TROUBLE,
	COL_DISRUPTIONS,
	COLS
};

static void top_frame_jobs_columns(struct column col[COLS], int cols)
{
	static const struct column whole[COLS] = {
		[COL_JOB] = {.head = "JOB", .width = 32},
		[COL_STATE] = {.head = "STATE", .width = 8},
		[COL_RANKS] = {.head = "RANKS", .width = 5, .right = true},
		[COL_STEP] = {.head = "STEP", .width = 8, .right = true},
		[COL_TIME] = {.head = "P50", .width = 8, .right = true},
		[COL_TREND] = {.head = "STEP TIMES", .width = 24},
		[COL_GOODPUT] = {.head = "GOODPUT", .width = 7, .right = true},
		[COL_BAR] = {.head = "WHERE TIME WENT", .width = 24},
		[COL_BADPUT] = {.head = "LARGEST BADPUT", .width = 26},
		[COL_TROUBLE] = {.head = "TROUBLE", .width = 24},
		[COL_DISRUPTIONS] = {.head = "FELL", .width = 4, .right = true},
	};
	static const struct column_way ways[] = {
		{COL_BADPUT, 18},  {COL_BAR, 15},     {COL_TREND, 10},	    {COL_JOB, 20},
		{COL_TROUBLE, 14}, {COL_BADPUT, 0},   {COL_TREND, 0},	    {COL_BAR, 8},
		{COL_JOB, 16},	   {COL_TROUBLE, 11}, {COL_STEP, 7},	    {COL_STATE, 7},
		{COL_JOB, 10},	   {COL_BAR, 0},      {COL_DISRUPTIONS, 0}, {COL_STEP, 0},
		{COL_STATE, 0},	   {COL_RANKS, 0},    {COL_TIME, 0},	    {COL_JOB, 4},
		{COL_TROUBLE, 0},
	};

	memcpy(col, whole, sizeof(whole));
	columns_fit(col, COLS, ways, sizeof(ways) / sizeof(ways[0]), cols > 3 ? cols - 2 : 1);
	if (col[COL_BAR].width && col[COL_BAR].width < 15)
		col[COL_BAR].head = "TIME";
}

/* ---- head ------------------------------------------------------------------------------------ */

static void top_frame_head_jobs(struct canvas *c, const struct top_state *s)
{
	uint32_t running = 0, down = 0, alive = 0;

	for (uint32_t i = 0; i < s->njobs; i++) {
		running += !strcmp(s->jobs[i].state, "running");
		down += !strcmp(s->jobs[i].state, "down");
	}
	for (uint32_t i = 0; i < s->nranks; i++)
		alive += s->ranks[i].alive;
	canvas_put(c, STYLE_DIM, "jobs ");
	canvas_put(c, STYLE_BOLD, "%u running", running);
	if (down)
		canvas_put(c, STYLE_RED, ", %u down", down);
	canvas_put(c, STYLE_DIM, ", %zu in all", s->njobs + s->jobs_beyond);
	canvas_put(c, STYLE_DIM, "   ranks ");
	canvas_put(c, STYLE_BOLD, "%u", alive);
	if (s->accelerators) {
		canvas_put(c, STYLE_DIM, "   accelerators ");
		canvas_put(c, STYLE_BOLD, "%llu", (unsigned long long)s->accelerators);
	}
}

/* Shows the overhead of gp-bpf, as a share of the ranks' time. */
static void top_frame_head_cost(struct canvas *c, const struct top_state *s)
{
	double cost = 0, time = 0;

	for (uint32_t i = 0; i < s->nranks; i++) {
		if (!s->ranks[i].overhead_known)
			continue;
		cost += (double)s->ranks[i].overhead_ns;
		time += (double)s->ranks[i].time.observed_ns;
	}
	canvas_put(c, STYLE_DIM, "overhead ");
	if (time > 0)
		canvas_put(c, STYLE_PLAIN, "%.3f %%", 100 * cost / time);
	else
		canvas_put(c, STYLE_PLAIN, "%s", s->nranks ? "unknown" : "none");
	canvas_put(c, STYLE_DIM, "   records lost ");
	if (s->lost)
		canvas_put(c, STYLE_RED, "%s", s->losses);
	else
		canvas_put(c, STYLE_PLAIN, "none");
	if (!s->service)
		return;
	canvas_put(c, STYLE_DIM, "   watched ");
	canvas_put(c, STYLE_PLAIN, "%llu", (unsigned long long)s->watched);
	if (s->no_training)
		canvas_put(c, STYLE_DIM, ", %llu without training",
			   (unsigned long long)s->no_training);
	if (s->denied)
		canvas_put(c, STYLE_DIM, "   excluded %llu", (unsigned long long)s->denied);
	if (s->gvisor)
		canvas_put(c, STYLE_DIM, "   unseen in gVisor %llu", (unsigned long long)s->gvisor);
}

static void top_frame_head(struct canvas *c, const struct top_state *s)
{
	char now[WORD_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_BOLD, "gp-bpf %s", s->version);
	if (*s->node)
		canvas_put(c, STYLE_CYAN, "  %.*s", c->cols > 50 ? c->cols - 40 : 10, s->node);
	canvas_right(c, c->cols, STYLE_DIM, top_clock(now, s, s->mono_ns));
	canvas_line(c, 0);
	top_frame_head_jobs(c, s);
	canvas_line(c, 1);
	top_frame_head_cost(c, s);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static enum style top_frame_state_style(const char *state)
{
	return !strcmp(state, "running") ? STYLE_GREEN
	       : !strcmp(state, "down")	 ? STYLE_RED
					 : STYLE_DIM;
}

static void top_frame_job_trouble(const struct top_job *j, char *out, size_t len, enum style *st)
{
	size_t at = 0;

	*st = j->marked[0] || j->marked[2] || j->marked[3] ? STYLE_RED : STYLE_YELLOW;
	*out = '\0';
	for (int k = 0; k < TOP_MARKS && at < len; k++)
		if (j->marked[k])
			at += (size_t)snprintf(out + at, len - at, "%s%s %u", at ? ", " : "",
					       top_mark_name[k], j->marked[k]);
	if (!at && j->futile >= JOB_FUTILE && strcmp(j->state, "ended") != 0)
		snprintf(out, len, "crash loop %llu", (unsigned long long)j->futile);
}

static void top_frame_job_badput(const struct top_job *j, char *out, size_t len)
{
	char share[WORD_MAX];
	const char *what;
	uint64_t ns;

	what = top_badput(&j->time, &ns);
	*out = '\0';
	if (what)
		snprintf(out, len, "%s %s", text_percent(share, ns, j->time.observed_ns), what);
}

static void frame_number(char out[WORD_MAX], uint64_t n)
{
	snprintf(out, WORD_MAX, n ? "%llu" : "-", (unsigned long long)n);
}

static void top_frame_job_row(struct canvas *c, const struct top_state *s, const struct top_job *j,
			      const struct column *col, bool chosen)
{
	const struct top_rank *r = j->shown < s->nranks ? &s->ranks[j->shown] : NULL;
	enum style plain = chosen ? STYLE_BOLD : STYLE_PLAIN, st;
	char name[256], text[WORD_MAX], words[96];
	double goodput = top_goodput(&j->time);

	canvas_line(c, chosen ? 0 : 2);
	canvas_put(c, STYLE_BOLD, chosen ? ">" : " ");
	top_cell(c, col, COL_JOB, plain, top_job_name(name, sizeof(name), s, j));
	top_cell(c, col, COL_STATE, top_frame_state_style(j->state), j->state);
	frame_number(text, j->alive);
	top_cell(c, col, COL_RANKS, plain, text);
	frame_number(text, j->step);
	top_cell(c, col, COL_STEP, plain, text);
	top_cell(c, col, COL_TIME, plain, r ? clock_duration(text, WORD_MAX, r->p50_ns) : "-");
	top_spark(c, col, COL_TREND, r);
	top_cell(c, col, COL_GOODPUT, top_ratio_style(goodput), top_ratio(text, goodput));
	canvas_at(c, top_column_at(col, COL_BAR));
	top_bar(c, &j->time, col[COL_BAR].width);
	top_frame_job_badput(j, words, sizeof(words));
	top_cell(c, col, COL_BADPUT, STYLE_DIM, words);
	top_frame_job_trouble(j, words, sizeof(words), &st);
	top_cell(c, col, COL_TROUBLE, st, words);
	frame_number(text, j->disruptions);
	top_cell(c, col, COL_DISRUPTIONS, j->disruptions ? STYLE_RED : STYLE_DIM, text);
}

static void top_frame_sorted_by(struct canvas *c, const struct top_ui *ui, uint32_t first,
				uint32_t end, uint32_t n, uint64_t all)
{
	canvas_line(c, 1);
	canvas_put(c, STYLE_DIM, "sorted by %s%s", top_job_sorts[ui->sort].name,
		   ui->reverse ? ", reversed" : "");
	if (*ui->filter)
		canvas_put(c, STYLE_YELLOW, "   %u of %llu match %s", n, (unsigned long long)all,
			   ui->filter);
	if (end - first < n)
		canvas_put(c, STYLE_DIM, "   %u to %u of %u", first + 1, end, n);
}

static void top_frame_no_jobs(struct canvas *c, const struct top_state *s, const struct top_ui *ui)
{
	canvas_line(c, 1);
	canvas_put(c, STYLE_YELLOW, "%s",
		   s->njobs  ? "no job matches the filter"
		   : ui->own ? "no training job has been seen yet"
			     : "no training job");
	if (!s->njobs && *s->nothing)
		canvas_put(c, STYLE_DIM, ": %s", s->nothing);
}

static void frame_jobs(struct canvas *c, const struct top_state *s, const struct top_ui *ui,
		       int rows, struct buffer *out)
{
	static const int sorted[TOP_JOB_SORT_COUNT] = {[TOP_JOB_TROUBLE] = COL_TROUBLE,
						       [TOP_JOB_JOB] = COL_JOB,
						       [TOP_JOB_STATE] = COL_STATE,
						       [TOP_JOB_RANKS] = COL_RANKS,
						       [TOP_JOB_STEP] = COL_STEP,
						       [TOP_JOB_TIME] = COL_TIME,
						       [TOP_JOB_GOODPUT] = COL_GOODPUT,
						       [TOP_JOB_BADPUT] = COL_BADPUT,
						       [TOP_JOB_DISRUPTIONS] = COL_DISRUPTIONS};
	uint32_t order[TOP_JOBS], n = top_jobs_order(s, ui, order),
				  at = top_job_at(s, ui, order, n), first, end;
	int room = rows ? rows - 8 : TOP_JOBS;
	struct column col[COLS];

	room = room < 3 ? 3 : room;
	top_rows_shown(n, at, (uint32_t)room, &first, &end);
	top_frame_sorted_by(c, ui, first, end, n, s->njobs + s->jobs_beyond);
	if (!n) {
		top_frame_no_jobs(c, s, ui);
		return;
	}
	canvas_line(c, 3);
	top_frame_jobs_columns(col, c->cols);
	top_heads(c, col, COLS, sorted[ui->sort]);
	for (uint32_t i = first; i < end; i++) {
		top_frame_job_row(c, s, &s->jobs[order[i]], col, rows && i == at);
		if (!rows)
			canvas_flush(c, out);
	}
	if (!s->jobs_beyond)
		return;
	canvas_line(c, 1);
	canvas_put(c, STYLE_YELLOW, "%llu more job%s than can be shown",
		   (unsigned long long)s->jobs_beyond, plural(s->jobs_beyond));
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void top_frame_key(struct canvas *c, const char *k, const char *what)
{
	canvas_put(c, STYLE_BOLD, "%s", k);
	canvas_put(c, STYLE_DIM, " %s   ", what);
}

void top_foot(struct canvas *c, const struct top_ui *ui)
{
	if (*ui->note) {
		canvas_line(c, 0);
		canvas_put(c, ui->bad ? STYLE_RED : STYLE_YELLOW, "%s", ui->note);
	}
	canvas_line(c, 0);
	if (ui->typing) {
		canvas_put(c, STYLE_BOLD, "filter: %s", ui->filter);
		canvas_put(c, STYLE_DIM, "_   Enter keeps it, Esc drops it");
		return;
	}
	top_frame_key(c, "q", ui->open ? "back" : "quit");
	top_frame_key(c, "↑ ↓", "choose");
	if (!ui->open)
		top_frame_key(c, "Enter", "open");
	top_frame_key(c, "< >", "sort");
	top_frame_key(c, "r", "reverse");
	if (!ui->open)
		top_frame_key(c, "/", "filter");
	top_frame_key(c, "?", "help");
}

static void top_frame_help_sorts(struct canvas *c, const char *what,
				 const struct top_sort_row *rows, int n)
{
	canvas_line(c, 3);
	canvas_line(c, 1);
	canvas_put(c, STYLE_DIM, "%s  ", what);
	for (int i = 0; i < n; i++) {
		if (c->col > c->cols - 16) {
			canvas_line(c, 1);
			canvas_at(c, 16);
		}
		canvas_put(c, STYLE_BOLD, "%c ", rows[i].key);
		canvas_put(c, STYLE_PLAIN, "%s  ", rows[i].name);
	}
}

static void frame_help(struct canvas *c)
{
	static const struct {
		const char *keys, *what;
	} rows[] = {
		{"↑ ↓ j k", "choose a line; PgUp PgDn by ten, Home End"},
		{"Enter", "open the job: its ranks, each with its steps and its trouble"},
		{"Esc q", "back; q quits from the list (jobs continue)"},
		{"< >", "sort by another column; r reverses the order"},
		{"/", "show only jobs whose name matches: text, or a glob (* ? [); Esc shows all"},
		{"?", "this page"},
	};

	canvas_line(c, 3);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		canvas_line(c, 1);
		canvas_at(c, 2);
		canvas_put(c, STYLE_BOLD, "%s", rows[i].keys);
		canvas_at(c, 16);
		canvas_put(c, STYLE_PLAIN, "%s", rows[i].what);
	}
	top_frame_help_sorts(c, "sort jobs by  ", top_job_sorts, TOP_JOB_SORT_COUNT);
	top_frame_help_sorts(c, "sort ranks by ", top_rank_sorts, TOP_RANK_SORT_COUNT);
	canvas_line(c, 3);
	for (int i = 0; i < BUCKETS_EXPORTED; i++) {
		if (!(i % 2))
			canvas_line(c, 2);
		canvas_at(c, i % 2 ? 40 : 2);
		canvas_put(c, part_style[i].style, "%s ", part_style[i].glyph);
		canvas_put(c, STYLE_PLAIN, "%s", bucket_label[i]);
	}
}

void top_frame(struct buffer *out, const struct top_state *s, const struct top_ui *ui,
	       const struct top_frame_options *o)
{
	const struct top_job *open = top_job_open(s, ui);
	int rows = o->rows > ROWS_MAX ? ROWS_MAX : o->rows;
	struct canvas c;

	canvas_open(&c, o->cols, o->color);
	top_frame_head(&c, s);
	if (ui->help) {
		frame_help(&c);
	} else if (open) {
		top_frame_job(&c, s, ui, open, rows, out);
	} else {
		if (ui->open) {
			canvas_line(&c, 1);
			canvas_put(&c, STYLE_YELLOW, "the job is gone");
		}
		frame_jobs(&c, s, ui, rows, out);
	}
	if (rows) {
		canvas_line(&c, 3);
		top_foot(&c, ui);
	} else if (*ui->note) {
		canvas_line(&c, 0);
		canvas_put(&c, STYLE_PLAIN, "%s", ui->note);
	}
	canvas_finish(&c, out, rows ? rows : CANVAS_LINES);
}
