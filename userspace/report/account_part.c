/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/account_part.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/text/format.h"

#define COL_NAME    4
#define COL_TYPE    6
#define COL_TIME    46 /* right edges of the columns COL_TIME and COL_SHARE */
#define COL_SHARE   55
#define COL_BAR	    57
#define CELLS	    22
#define TYPES_MAX   20 /* limit of custom event types that get a line each; others share one */
#define LARGEST_MAX 3

#define LINE_TIME  58 /* right edges of the columns LINE_TIME and LINE_SHARE */
#define LINE_SHARE 67
#define LINE_BAR   69
#define LINE_CELLS 10

struct row {
	int id; /* an enum goodput_badput; BADPUTS stands for goodput */
	double s, pct;
};

static const char *part_label(int id)
{
	return id == BADPUTS		 ? bucket_label[BUCKET_GOODPUT]
	       : id == BADPUT_LOAD_ASYNC ? "data loading, asynchronous"
					 : bucket_label[badput_bucket[id]];
}

const char *span_text(char out[SPAN_TEXT_MAX], double s)
{
	double ns = round(fabs(s) * 1e9);

	if (!(ns < (double)INT64_MAX)) {
		snprintf(out, SPAN_TEXT_MAX, "unknown");
	} else if (ns < 1) {
		snprintf(out, SPAN_TEXT_MAX, "0 s");
	} else {
		out[0] = '-';
		clock_duration(out + (s < 0), SPAN_TEXT_MAX - 1, (uint64_t)ns);
	}
	return out;
}

static const char *account_part_percent_text(char out[SPAN_TEXT_MAX], double pct)
{
	if (!isfinite(pct))
		return "unknown";
	if (pct > 0 && pct < 0.05)
		return "<0.1 %";
	/* Print "100 %" only if nothing is missing: do not round 99.95 up. */
	if (pct < 100 && pct >= 99.95)
		return ">99.9 %";
	snprintf(out, SPAN_TEXT_MAX, "%.1f %%", pct);
	return out;
}

static int account_part_row_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if ((x->id == BADPUTS) != (y->id == BADPUTS))
		return x->id == BADPUTS ? -1 : 1;
	if (x->s != y->s)
		return x->s > y->s ? -1 : 1;
	if (x->pct != y->pct)
		return x->pct > y->pct ? -1 : 1;
	return x->id - y->id;
}

/* Lists GOODPUT and the badputs that are not 0, without the badputs that do not count in the
 * sum. */
static int part_rows(struct row rows[BADPUTS + 1], const struct goodput_part *p)
{
	int n = 0;

	rows[n++] = (struct row){BADPUTS, p->productive_s, p->goodput_pct};
	for (int i = 0; i < BADPUTS; i++) {
		double s = p->has_s & 1u << i ? p->badput_s[i] : 0;
		double pct = p->has_pct & 1u << i ? p->badput_pct[i] : 0;

		if (i != BADPUT_LOAD_ASYNC && (s != 0 || pct != 0))
			rows[n++] = (struct row){i, s, pct};
	}
	qsort(rows, (size_t)n, sizeof(*rows), account_part_row_order);
	return n;
}

static int account_part_custom_order(const void *a, const void *b)
{
	const struct goodput_custom *x = *(const struct goodput_custom *const *)a;
	const struct goodput_custom *y = *(const struct goodput_custom *const *)b;

	if (x->s != y->s)
		return x->s > y->s ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void part_types(struct canvas *c, const struct goodput_part *p,
		       const struct goodput_names *names)
{
	const struct goodput_custom **by_size;
	char time[SPAN_TEXT_MAX], share[SPAN_TEXT_MAX];
	size_t n = p->custom_count;

	by_size = n ? malloc(n * sizeof(const struct goodput_custom *)) : NULL;
	if (!by_size)
		return;
	for (size_t i = 0; i < n; i++)
		by_size[i] = &p->custom[i];
	qsort(by_size, n, sizeof(const struct goodput_custom *), account_part_custom_order);
	for (size_t i = 0; i < n && i < TYPES_MAX; i++) {
		canvas_line(c, 0);
		canvas_at(c, COL_TYPE);
		canvas_put(c, STYLE_DIM, "%s", goodput_name(names, by_size[i]->name));
		canvas_right(c, COL_TIME, STYLE_DIM, span_text(time, by_size[i]->s));
		canvas_right(c, COL_SHARE, STYLE_DIM,
			     account_part_percent_text(share, by_size[i]->pct));
	}
	if (n > TYPES_MAX) {
		canvas_line(c, 0);
		canvas_at(c, COL_TYPE);
		canvas_put(c, STYLE_DIM, "and %zu more type%s", n - TYPES_MAX,
			   plural(n - TYPES_MAX));
	}
	free(by_size);
}

static void part_row(struct canvas *c, const struct row *r)
{
	char time[SPAN_TEXT_MAX], share[SPAN_TEXT_MAX];

	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, r->id == BADPUTS ? STYLE_BOLD : STYLE_PLAIN, "%s", part_label(r->id));
	canvas_right(c, COL_TIME, STYLE_PLAIN, span_text(time, r->s));
	canvas_right(c, COL_SHARE, STYLE_PLAIN, account_part_percent_text(share, r->pct));
	canvas_at(c, COL_BAR);
	canvas_bar(c, part_style[r->id == BADPUTS ? BUCKET_GOODPUT : badput_bucket[r->id]].style,
		   CELLS, r->pct / 100);
}

static void part_sum(struct canvas *c, const struct goodput_part *p, double whole_s,
		     const char *whole)
{
	/* If the difference between the sum of the parts and the whole is below this limit, it is
	 * a rounding error in the goodput library's arithmetic. */
	bool closed = fabs(p->residual_s) < 1e-4 + 1e-9 * fabs(whole_s);
	double sum_s = whole_s - (closed ? 0 : p->residual_s);
	char sum[SPAN_TEXT_MAX], elapsed[SPAN_TEXT_MAX];

	span_text(sum, sum_s);
	span_text(elapsed, whole_s);
	/* If the sum and the elapsed time round to the same text, print them with more digits, so
	 * that the difference shows. */
	if (!closed && !strcmp(sum, elapsed) && sum_s > 0)
		clock_durations(sum, elapsed, SPAN_TEXT_MAX, (uint64_t)(sum_s * 1e9),
				(uint64_t)(whole_s * 1e9));
	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_BOLD, "sum");
	canvas_right(c, COL_TIME, STYLE_BOLD, sum);
	canvas_at(c, COL_TIME + 2);
	if (closed)
		canvas_put(c, STYLE_DIM, "= %s", whole);
	else
		canvas_put(c, STYLE_YELLOW, "%s is %s", whole, elapsed);
}

void part_table(struct canvas *c, const struct goodput_part *p, double whole_s, const char *whole,
		const char *title, const struct goodput_names *names)
{
	struct row rows[BADPUTS + 1];
	int n = part_rows(rows, p);
	double async_s = p->has_s & 1u << BADPUT_LOAD_ASYNC ? p->badput_s[BADPUT_LOAD_ASYNC] : 0;
	char time[SPAN_TEXT_MAX];

	canvas_line(c, 0);
	canvas_put(c, STYLE_DIM, "  %s", title);
	canvas_right(c, COL_TIME, STYLE_DIM, "time");
	canvas_right(c, COL_SHARE, STYLE_DIM, "share");
	for (int i = 0; i < n; i++) {
		part_row(c, &rows[i]);
		if (rows[i].id == BADPUT_CUSTOM)
			part_types(c, p, names);
	}
	part_sum(c, p, whole_s, whole);
	if (async_s == 0)
		return;
	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_DIM, "%s", part_label(BADPUT_LOAD_ASYNC));
	canvas_right(c, COL_TIME, STYLE_DIM, span_text(time, async_s));
	canvas_put(c, STYLE_DIM, "  beside the steps: in no sum");
}

void part_line(struct canvas *c, const struct goodput_part *p, const char *left)
{
	char time[SPAN_TEXT_MAX], share[SPAN_TEXT_MAX], largest[96];
	struct row rows[BADPUTS + 1];
	int n;

	canvas_line(c, 0);
	canvas_at(c, COL_NAME);
	canvas_put(c, STYLE_PLAIN, "%s", left);
	if (p->error && !(p->total_s > 0)) {
		canvas_right(c, LINE_TIME, STYLE_YELLOW, "no answer");
		canvas_line(c, 0);
		canvas_at(c, COL_TYPE);
		canvas_put(c, STYLE_DIM, "%s: %s", p->error_type, p->error);
		return;
	}
	if (!(p->total_s > 0)) {
		canvas_right(c, LINE_TIME, STYLE_DIM, "not in it");
		return;
	}
	canvas_right(c, LINE_TIME, STYLE_PLAIN, span_text(time, p->total_s));
	canvas_right(c, LINE_SHARE, STYLE_PLAIN, account_part_percent_text(share, p->goodput_pct));
	canvas_at(c, LINE_BAR);
	canvas_bar(c, part_style[BUCKET_GOODPUT].style, LINE_CELLS, p->goodput_pct / 100);
	n = part_rows(rows, p);
	if (n < 2)
		return;
	canvas_line(c, 0);
	canvas_at(c, COL_TYPE);
	for (int i = 1; i < n && i <= LARGEST_MAX; i++) {
		snprintf(largest, sizeof(largest), "%s%s %s", i > 1 ? ", " : "",
			 part_label(rows[i].id), account_part_percent_text(share, rows[i].pct));
		if (c->col + canvas_width(largest) <= c->cols)
			canvas_put(c, STYLE_DIM, "%s", largest);
	}
}
