/* SPDX-License-Identifier: Apache-2.0 */
/* html_step.c - the chart of step times over the run. Its logarithmic scale shows both a step that
 * took a hundred times as long and a change of a few percent. */
#include <math.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

#define HIGH  250 /* height of the chart in chart units */
#define TICKS 5
/* height at which the upper part of a divided scale begins, 0 to 1; must be at a tick */
#define UPPER_AT 0.75
/* The line of the chart is interrupted if at least this number of columns have no step; more
 * columns if a step takes longer than a column. */
#define GAP_MIN 4

/* Vertical scale of step times. If a few steps took far longer than all others, the upper quarter
 * of the chart is reserved for them. */
struct scale {
	/* logarithms of times in ns; cut >= high: the scale is not divided */
	double low, cut, high;
};

static double html_step_place(const struct scale *c, double ns)
{
	double at = log(ns > 1 ? ns : 1);

	if (c->cut < c->high)
		at = at < c->cut ? UPPER_AT * (at - c->low) / (c->cut - c->low)
				 : UPPER_AT + (1 - UPPER_AT) * (at - c->cut) / (c->high - c->cut);
	else
		at = (at - c->low) / (c->high - c->low);
	return HIGH * (1 - (at < 0 ? 0 : at > 1 ? 1 : at));
}

/* Returns the step time in ns that a height of the chart (0 to 1) stands for. */
static double html_step_time_at(const struct scale *c, double at)
{
	if (c->cut >= c->high)
		return exp(c->low + at * (c->high - c->low));
	if (at <= UPPER_AT)
		return exp(c->low + at / UPPER_AT * (c->cut - c->low));
	return exp(c->cut + (at - UPPER_AT) / (1 - UPPER_AT) * (c->high - c->cut));
}

/* Returns a scale for times from min_ns to max_ns with a margin. The top of the scale is at least
 * 10 % above its bottom, so that small differences do not look large. */
static struct scale html_step_scale_of(const struct sketch *t, uint64_t min_ns, uint64_t max_ns)
{
	struct scale c = {.low = log(min_ns ? (double)min_ns : 1),
			  .high = log(max_ns ? (double)max_ns : 1)};
	uint64_t cut_ns = html_cut_ns(t);
	bool cut = cut_ns > min_ns && cut_ns < max_ns;
	double top = cut ? log((double)cut_ns) : c.high;

	if (top - c.low < 0.1) {
		c.low -= (0.1 - (top - c.low)) / 2;
		top += 0.05;
	}
	c.cut = top;
	if (!cut || top >= c.high)
		c.high = c.cut = top + (top - c.low) * 0.05;
	c.low -= (top - c.low) * 0.05;
	return c;
}

static void html_step_scale_labels(struct buffer *out, const struct scale *c)
{
	char text[WORD_MAX];

	buffer_printf(out, "<div class=\"scale\" aria-hidden=\"true\">");
	for (int i = 0; i < TICKS; i++) {
		double ns = html_step_time_at(c, 1 - (double)i / (TICKS - 1));

		buffer_printf(out, "<span%s style=\"top:%d%%\">%s</span>",
			      !i	       ? " class=\"top\""
			      : i == TICKS - 1 ? " class=\"bottom\""
					       : "",
			      100 * i / (TICKS - 1), html_about(text, ns));
	}
	buffer_printf(out, "</div>");
}

static void html_step_grid(struct buffer *out, const struct scale *c)
{
	for (int i = 1; i < TICKS - 1; i++)
		buffer_printf(out, "<path class=\"grid%s\" d=\"M0 %d H%d\"/>\n",
			      i == 1 && c->cut < c->high ? " break" : "", HIGH * i / (TICKS - 1),
			      HTML_WIDE);
}

/* ---- over the run ---------------------------------------------------------------------------- */

static double html_step_column_at(const struct report_document *s, uint32_t i)
{
	return html_at(s, s->curve->from_ns + (int64_t)(i * s->curve->width_ns));
}

/* Draws the range of step times in each column, from minimum to maximum, as one path. */
static void html_step_bands(struct buffer *out, const struct report_document *s,
			    const struct scale *c)
{
	buffer_printf(out, "<path class=\"band\" d=\"");
	for (uint32_t i = 0; i < s->curve->used; i++) {
		const struct sketch *t = &s->curve->at[i];
		double x = html_step_column_at(s, i), wide = html_step_column_at(s, i + 1) - x,
		       top = html_step_place(c, (double)t->max_ns),
		       high = html_step_place(c, (double)t->min_ns) - top;

		if (!t->count)
			continue;
		if (wide < 1)
			wide = 1;
		if (high < 1.5)
			high = 1.5;
		buffer_printf(out, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, top, wide, high, wide);
	}
	buffer_printf(out, "\"/>\n");
}

static void html_step_medians(struct buffer *out, const struct report_document *s,
			      const struct scale *c)
{
	double gap = 4 * (double)sketch_quantile(&s->totals.times, 0.5) /
		     (double)s->curve->width_ns;
	uint32_t last = 0;
	bool any = false;

	gap = gap > GAP_MIN ? gap : GAP_MIN;
	buffer_printf(out, "<path class=\"line\" d=\"");
	for (uint32_t i = 0; i < s->curve->used; i++) {
		const struct sketch *t = &s->curve->at[i];

		if (!t->count)
			continue;
		buffer_printf(out, "%c%.1f %.1f", any && i - last <= gap ? 'L' : 'M',
			      (html_step_column_at(s, i) + html_step_column_at(s, i + 1)) / 2,
			      html_step_place(c, (double)sketch_quantile(t, 0.5)));
		buffer_printf(out, "h.1"); /* a short line, so that a single point is visible */
		last = i;
		any = true;
	}
	buffer_printf(out, "\"/>\n");
}

static void html_step_ideal_across(struct buffer *out, const struct report_document *s,
				   const struct scale *c)
{
	if (s->times.ideal_ns)
		buffer_printf(out, "<path class=\"ideal\" d=\"M0 %.1fH%d\"/>\n",
			      html_step_place(c, (double)s->times.ideal_ns), HTML_WIDE);
}

static void html_step_curve_bounds(const struct curve *s, uint64_t *ret_min_ns,
				   uint64_t *ret_max_ns)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (uint32_t i = 0; i < s->used; i++) {
		if (!s->at[i].count)
			continue;
		min = s->at[i].min_ns < min ? s->at[i].min_ns : min;
		max = s->at[i].max_ns > max ? s->at[i].max_ns : max;
	}
	*ret_min_ns = min;
	*ret_max_ns = max;
}

static void html_step_legend(struct buffer *out, const struct report_document *s,
			     const struct scale *c)
{
	char text[WORD_MAX];

	buffer_printf(
		out,
		"<figcaption><svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path class=\"line\" "
		"d=\"M0 3.5H16\"/></svg>median <svg class=\"key\" viewBox=\"0 0 16 7\" "
		"aria-hidden=\"true\"><rect class=\"band\" width=\"16\" height=\"7\"/></svg>least to greatest");
	if (s->times.ideal_ns)
		buffer_printf(
			out,
			" <svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path class=\"ideal\" "
			"d=\"M0 3.5H16\"/></svg>ideal, %s",
			clock_duration(text, WORD_MAX, s->times.ideal_ns));
	buffer_printf(out, "; a point stands for %s%s; the scale is logarithmic%s</figcaption>\n",
		      s->every_step ? "every step within " : "",
		      clock_duration(text, WORD_MAX, s->curve->width_ns),
		      c->cut < c->high ? ", and closer above the uppermost line" : "");
}

void html_steps(struct buffer *out, const struct report_document *s)
{
	char low[WORD_MAX], high[WORD_MAX];
	uint64_t min_ns, max_ns;
	struct scale c;

	html_section(out, "steps", "Step time over the run");
	if (!s->curve->count) {
		buffer_printf(out, "<p>No step has a time.</p>\n");
		html_section_end(out);
		return;
	}
	html_step_curve_bounds(s->curve, &min_ns, &max_ns);
	c = html_step_scale_of(&s->totals.times, min_ns, max_ns);
	buffer_printf(out, "<figure>\n");
	html_step_legend(out, s, &c);
	buffer_printf(out, "<div class=\"plot\">");
	html_step_scale_labels(out, &c);
	buffer_printf(
		out,
		"<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-labelledby=\"t-steps d-steps\"><title id=\"t-steps\">Step time over the run</title>"
		"<desc id=\"d-steps\">%llu step%s, from %s to %s, on a logarithmic scale.</desc>\n",
		HTML_WIDE, HIGH, (unsigned long long)s->curve->count, plural(s->curve->count),
		clock_duration(low, WORD_MAX, min_ns), clock_duration(high, WORD_MAX, max_ns));
	html_step_grid(out, &c);
	html_step_bands(out, s, &c);
	html_step_medians(out, s, &c);
	html_step_ideal_across(out, s, &c);
	buffer_printf(out, "</svg><div class=\"below\">");
	html_clock(out, s);
	buffer_printf(out, "</div></div>\n</figure>\n");
	html_section_end(out);
}
