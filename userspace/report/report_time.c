/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_time.h"

#include "userspace/base/clock.h"
#include "userspace/report/report_program.h"
#include "userspace/text/format.h"

#define COL_NAME  4
#define COL_TIME  44 /* right edges of the columns COL_TIME and COL_SHARE */
#define COL_SHARE 60
#define COL_BAR	  63
#define BAR_CELLS 32
/* Right edges of the columns for accelerator time and cost, which replace the bar. */
#define COL_HOURS 76
#define COL_COST  92

static void time_bar(struct canvas *c, const struct part *p, uint64_t whole)
{
	int col = canvas_scaled(c, COL_BAR, COL_COST);

	canvas_at(c, col);
	canvas_bar(c, part_style[p->id].style,
		   c->cols - col < BAR_CELLS ? c->cols - col : BAR_CELLS,
		   whole ? (double)p->ns / (double)whole : 0);
}

static void report_cost_put(struct canvas *c, const struct report_cost *w, double ns,
			    enum style style)
{
	char text[REPORT_WORD];

	canvas_right(c, canvas_scaled(c, COL_HOURS, COL_COST), style, report_hours(text, ns));
	if (w->config->price > 0)
		canvas_right(c, canvas_scaled(c, COL_COST, COL_COST), style,
			     report_money(text, w->config, ns));
}

/* Returns the cost of a part of the time. The cost of custom events is known for all types
 * together, so each type gets a share in proportion to its time. */
static double report_time_cost_of(const struct report_cost *w, const struct part *p,
				  uint64_t custom_ns)
{
	int part = p->id;

	if (part == PART_RUNNING)
		return w->running_ns;
	if (part == BUCKET_CUSTOM && custom_ns)
		return w->accelerator_ns[part] * (double)p->ns / (double)custom_ns;
	return w->accelerator_ns[part] - (part == BUCKET_OTHER ? w->running_ns : 0);
}

static void time_row(struct canvas *c, const struct part *p, const struct ledger_view *l,
		     const struct report_cost *w)
{
	bool unseen = p->id == BUCKET_UNOBSERVED;
	uint64_t observed = text_observed_ns(l);
	char time[WORD_MAX], share[WORD_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_PLAIN, "%s", p->label);
	canvas_right(c, canvas_scaled(c, COL_TIME, COL_COST), STYLE_PLAIN,
		     clock_duration(time, WORD_MAX, p->ns));
	/* Percentages are of observed time, so UNOBSERVED has none. */
	canvas_right(c, canvas_scaled(c, COL_SHARE, COL_COST), unseen ? STYLE_DIM : STYLE_PLAIN,
		     unseen ? "beside it" : text_percent(share, p->ns, observed));
	if (w)
		report_cost_put(c, w, report_time_cost_of(w, p, l->ns[BUCKET_CUSTOM]), STYLE_PLAIN);
	else if (!unseen)
		time_bar(c, p, observed);
}

/* Adds rows for buckets in which other ranks have time, but the reference rank has none. */
static void report_time_other_rows(struct canvas *c, const struct ledger_view *l,
				   const struct report_cost *w)
{
	for (int b = 0; b < BUCKETS_EXPORTED; b++)
		if (!l->ns[b] && w->accelerator_ns[b] > 0)
			time_row(c, &(struct part){.id = b, .label = bucket_label[b]}, l, w);
}

static void report_time_cost_head(struct canvas *c, const struct report_cost *w)
{
	canvas_right(c, canvas_scaled(c, COL_HOURS, COL_COST), STYLE_DIM, "accel.-hours");
	if (w->config->price > 0)
		canvas_right(c, canvas_scaled(c, COL_COST, COL_COST), STYLE_DIM, "cost");
}

void report_time(struct canvas *c, const struct ledger_view *l, const struct type_names *types,
		 const struct report_cost *w)
{
	uint64_t elapsed = ledger_elapsed(l), sum = 0;
	struct part parts[PARTS_MAX];
	int n = text_parts(parts, l, types);
	char time[WORD_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  where the time went");
	canvas_right(c, canvas_scaled(c, COL_TIME, COL_COST), STYLE_DIM, "time");
	canvas_right(c, canvas_scaled(c, COL_SHARE, COL_COST), STYLE_DIM, "of observed");
	if (w)
		report_time_cost_head(c, w);
	for (int i = 0; i < n; i++) {
		time_row(c, &parts[i], l, w);
		sum += parts[i].ns;
	}
	if (w)
		report_time_other_rows(c, l, w);
	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_BOLD, "sum");
	canvas_right(c, canvas_scaled(c, COL_TIME, COL_COST), STYLE_BOLD,
		     clock_duration(time, WORD_MAX, sum));
	canvas_at(c, COL_SHARE - 11);
	if (sum == elapsed)
		canvas_put(c, STYLE_DIM, "  = elapsed");
	else
		canvas_put(c, STYLE_RED, "  elapsed is %s",
			   clock_duration(time, WORD_MAX, elapsed));
	if (w)
		report_cost_put(c, w, report_accelerator_ns(w->accelerator_ns), STYLE_BOLD);
	if (!l->ns[BUCKET_EXCLUDED])
		return;
	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_YELLOW, "%s", bucket_label[BUCKET_EXCLUDED]);
	canvas_right(c, canvas_scaled(c, COL_TIME, COL_COST), STYLE_YELLOW,
		     clock_duration(time, WORD_MAX, l->ns[BUCKET_EXCLUDED]));
	canvas_right(c, canvas_scaled(c, COL_SHARE, COL_COST), STYLE_DIM, "beside it");
}
