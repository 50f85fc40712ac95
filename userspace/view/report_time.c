/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/view/report_time.h"

#include "userspace/base/clock.h"
#include "userspace/view/words.h"

#define COL_NAME  4
#define COL_TIME  44 /* right edge */
#define COL_SHARE 60 /* right edge */
#define COL_BAR	  63
#define BAR_CELLS 32

/* Eighths of a cell: a share of one percent still shows. */
static void time_bar(struct canvas *c, const struct part *p, uint64_t whole)
{
	static const char *const eighth[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int n = whole ? (int)((double)p->ns / (double)whole * BAR_CELLS * 8 + 0.5) : 0;

	canvas_at(c, COL_BAR);
	if (n > BAR_CELLS * 8)
		n = BAR_CELLS * 8;
	for (; n >= 8; n -= 8)
		canvas_put(c, part_look[p->id].style, "█");
	canvas_put(c, part_look[p->id].style, "%s", eighth[n]);
}

static void time_row(struct canvas *c, const struct part *p, uint64_t observed)
{
	bool unseen = p->id == BUCKET_UNOBSERVED;
	char time[WORD_MAX], share[WORD_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_PLAIN, "%s", part_label(p->id));
	canvas_right(c, COL_TIME, STYLE_PLAIN, clock_duration(time, WORD_MAX, p->ns));
	/* What was not seen is no share of what was. */
	canvas_right(c, COL_SHARE, unseen ? STYLE_DIM : STYLE_PLAIN,
		     unseen ? "beside it" : view_percent(share, p->ns, observed));
	if (!unseen)
		time_bar(c, p, observed);
}

void report_time(struct canvas *c, const struct ledger_view *l)
{
	uint64_t observed = view_observed_ns(l), elapsed = l->now_ns - l->start_ns, sum = 0;
	struct part parts[PART_COUNT];
	int n = view_parts(parts, l);
	char time[WORD_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  where the time went");
	canvas_right(c, COL_TIME, STYLE_DIM, "time");
	canvas_right(c, COL_SHARE, STYLE_DIM, "of observed");
	for (int i = 0; i < n; i++) {
		time_row(c, &parts[i], observed);
		sum += parts[i].ns;
	}
	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_BOLD, "sum");
	canvas_right(c, COL_TIME, STYLE_BOLD, clock_duration(time, WORD_MAX, sum));
	canvas_at(c, COL_SHARE - 11);
	if (sum == elapsed)
		canvas_put(c, STYLE_DIM, "  = elapsed");
	else
		canvas_put(c, STYLE_RED, "  elapsed is %s", clock_duration(time, WORD_MAX, elapsed));
}
