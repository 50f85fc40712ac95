/* SPDX-License-Identifier: Apache-2.0 */
/* Step time over the run, and how often each time was: both on a logarithmic scale, on which a step that
 * took a hundred times as long and a change of some percent are both seen. */
#include <math.h>
#include <stdio.h>

#include "userspace/base/clock.h"
#include "userspace/view/html_private.h"

#define HIGH	 250 /* of the charts, in their own units */
#define BARS_MAX 60
#define TICKS	 5
#define GAP_MIN	 4 /* columns without a step that end a line; more where steps are longer than columns */

struct scale {
	double low, high; /* logarithms */
};

static double place(const struct scale *c, double ns)
{
	double at = (log(ns > 1 ? ns : 1) - c->low) / (c->high - c->low);

	return HIGH * (1 - (at < 0 ? 0 : at > 1 ? 1 : at));
}

/* A little room around all of it; never narrower than 10 %. */
static struct scale scale_of(uint64_t min_ns, uint64_t max_ns)
{
	struct scale c = {log(min_ns ? (double)min_ns : 1), log(max_ns ? (double)max_ns : 1)};
	double room = (c.high - c.low) * 0.05;

	if (c.high - c.low < 0.1) {
		double middle = (c.high + c.low) / 2;

		c.low = middle - 0.05;
		c.high = middle + 0.05;
	}
	c.low -= room;
	c.high += room;
	return c;
}

static void scale_labels(struct buffer *out, const struct scale *c)
{
	char text[WORD_MAX];

	buffer_printf(out, "<div class=\"scale\" aria-hidden=\"true\">");
	for (int i = 0; i < TICKS; i++) {
		double ns = exp(c->high + (c->low - c->high) * i / (TICKS - 1));

		buffer_printf(out, "<span%s style=\"top:%d%%\">%s</span>",
			      !i	       ? " class=\"top\""
			      : i == TICKS - 1 ? " class=\"bottom\""
					       : "",
			      100 * i / (TICKS - 1), clock_duration(text, WORD_MAX, (uint64_t)ns));
	}
	buffer_printf(out, "</div>");
}

static void grid(struct buffer *out)
{
	for (int i = 1; i < TICKS - 1; i++)
		buffer_printf(out, "<path class=\"grid\" d=\"M0 %d H%d\"/>\n", HIGH * i / (TICKS - 1),
			      HTML_WIDE);
}

/* ---- over the run ------------------------------------------------------------------------------------ */

static double column_at(const struct story *s, uint32_t i)
{
	return html_at(s, s->series->from_ns + (int64_t)(i * s->series->width_ns));
}

/* Least to greatest of each column, as one path. */
static void bands(struct buffer *out, const struct story *s, const struct scale *c)
{
	buffer_printf(out, "<path class=\"band\" d=\"");
	for (uint32_t i = 0; i < s->series->used; i++) {
		const struct sketch *t = &s->series->at[i];
		double x = column_at(s, i), wide = column_at(s, i + 1) - x, top = place(c, (double)t->max_ns),
		       high = place(c, (double)t->min_ns) - top;

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

static void medians(struct buffer *out, const struct story *s, const struct scale *c)
{
	double gap = 4 * (double)sketch_quantile(&s->totals.times, 0.5) / (double)s->series->width_ns;
	uint32_t last = 0;
	bool any = false;

	gap = gap > GAP_MIN ? gap : GAP_MIN;
	buffer_printf(out, "<path class=\"line\" d=\"");
	for (uint32_t i = 0; i < s->series->used; i++) {
		const struct sketch *t = &s->series->at[i];

		if (!t->count)
			continue;
		buffer_printf(out, "%c%.1f %.1f", any && i - last <= gap ? 'L' : 'M',
			      (column_at(s, i) + column_at(s, i + 1)) / 2,
			      place(c, (double)sketch_quantile(t, 0.5)));
		buffer_printf(out, "h.1"); /* a point by itself is seen too */
		last = i;
		any = true;
	}
	buffer_printf(out, "\"/>\n");
}

static void ideal_across(struct buffer *out, const struct story *s, const struct scale *c)
{
	if (s->ideal_ns)
		buffer_printf(out, "<path class=\"ideal\" d=\"M0 %.1fH%d\"/>\n",
			      place(c, (double)s->ideal_ns), HTML_WIDE);
}

static void series_bounds(const struct series *s, uint64_t *ret_min_ns, uint64_t *ret_max_ns)
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

static void legend(struct buffer *out, const struct story *s)
{
	char text[WORD_MAX];

	buffer_printf(out, "<figcaption><svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path "
			   "class=\"line\" "
			   "d=\"M0 3.5H16\"/></svg>median <svg class=\"key\" viewBox=\"0 0 16 7\" "
			   "aria-hidden=\"true\"><rect class=\"band\" width=\"16\" height=\"7\"/></svg>least "
			   "to greatest");
	if (s->ideal_ns)
		buffer_printf(
			out,
			" <svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path class=\"ideal\" "
			"d=\"M0 3.5H16\"/></svg>ideal, %s",
			clock_duration(text, WORD_MAX, s->ideal_ns));
	buffer_printf(out, "; a point stands for %s%s; the scale is logarithmic</figcaption>\n",
		      s->every_step ? "every step within " : "",
		      clock_duration(text, WORD_MAX, s->series->width_ns));
}

void html_steps(struct buffer *out, const struct story *s)
{
	char low[WORD_MAX], high[WORD_MAX];
	uint64_t min_ns, max_ns;
	struct scale c;

	html_section(out, "steps", "Step time over the run");
	if (!s->series->count) {
		buffer_printf(out, "<p>No step has a time.</p>\n");
		html_section_end(out);
		return;
	}
	series_bounds(s->series, &min_ns, &max_ns);
	c = scale_of(min_ns, max_ns);
	buffer_printf(out, "<figure>\n");
	legend(out, s);
	buffer_printf(out, "<div class=\"plot\">");
	scale_labels(out, &c);
	buffer_printf(
		out,
		"<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-labelledby=\"t-steps d-steps\"><title id=\"t-steps\">Step time over the run</title>"
		"<desc id=\"d-steps\">%llu steps, from %s to %s, on a logarithmic scale.</desc>\n",
		HTML_WIDE, HIGH, (unsigned long long)s->series->count, clock_duration(low, WORD_MAX, min_ns),
		clock_duration(high, WORD_MAX, max_ns));
	grid(out);
	bands(out, s, &c);
	medians(out, s, &c);
	ideal_across(out, s, &c);
	buffer_printf(out, "</svg><div class=\"below\">");
	html_clock(out, s);
	buffer_printf(out, "</div></div>\n</figure>\n");
	html_section_end(out);
}

/* ---- how often --------------------------------------------------------------------------------------- */

struct bars {
	const struct sketch *times;
	uint32_t low, each, count; /* the first class; classes to a bar; bars */
	uint64_t steps[BARS_MAX], most;
};

static void bars_make(struct bars *b, const struct sketch *t)
{
	uint32_t low = t->at[0].class, high = t->at[t->used - 1].class + 1u;

	*b = (struct bars){.times = t, .low = low, .each = (high - low + BARS_MAX - 1) / BARS_MAX};
	b->count = (high - low + b->each - 1) / b->each;
	for (uint16_t i = 0; i < t->used; i++) {
		uint64_t *n = &b->steps[(t->at[i].class - low) / b->each];

		*n += t->at[i].count;
		b->most = *n > b->most ? *n : b->most;
	}
}

static double edge(const struct bars *b, uint32_t bar)
{
	return sketch_class_ns(b->times, b->low + bar * b->each);
}

/* Classes are alike wide on a logarithmic scale, but for what lies within a power of two. */
static double bar_place(const struct bars *b, double ns)
{
	uint32_t i = 0;
	double from, to, at;

	while (i + 1 < b->count && edge(b, i + 1) <= ns)
		i++;
	from = edge(b, i);
	to = edge(b, i + 1);
	at = (i + (ns - from) / (to - from)) * HTML_WIDE / b->count;
	return at < 0 ? 0 : at > HTML_WIDE ? HTML_WIDE : at;
}

static void bar_draw(struct buffer *out, const struct bars *b, uint32_t i)
{
	double wide = (double)HTML_WIDE / b->count,
	       high = 0.94 * HIGH * (double)b->steps[i] / (double)b->most;
	char from[WORD_MAX], to[WORD_MAX];

	if (!b->steps[i])
		return;
	if (high < 4)
		high = 4;
	buffer_printf(
		out,
		"<rect class=\"info\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s to %s: "
		"%llu steps</title></rect>\n",
		i * wide + wide * 0.06, HIGH - high, wide * 0.88, high,
		clock_duration(from, WORD_MAX, (uint64_t)edge(b, i)),
		clock_duration(to, WORD_MAX, (uint64_t)edge(b, i + 1)), (unsigned long long)b->steps[i]);
}

static void bars_labels(struct buffer *out, const struct bars *b)
{
	char text[WORD_MAX];

	buffer_printf(out, "<p class=\"clock\" aria-hidden=\"true\">");
	for (uint32_t i = 0; i < TICKS; i++) {
		double at = (double)b->count * i / (TICKS - 1);
		uint32_t bar = (uint32_t)at;
		double ns = edge(b, bar) + (at - bar) * (edge(b, bar + 1) - edge(b, bar));

		buffer_printf(out, "<span>%s</span>", clock_duration(text, WORD_MAX, (uint64_t)ns));
	}
	buffer_printf(out, "</p>\n");
}

void html_histogram(struct buffer *out, const struct story *s)
{
	const struct sketch *t = &s->totals.times;
	char text[WORD_MAX];
	struct bars b;

	if (!t->count)
		return;
	bars_make(&b, t);
	html_section(out, "often", "How often a step took how long");
	buffer_printf(out, "<figure>\n<figcaption>");
	html_count(out, "times", t->count);
	buffer_printf(out, " steps; even a single one has a bar of some height");
	if (s->ideal_ns) {
		buffer_printf(out, "; <svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path "
				   "class=\"ideal\" d=\"M0 3.5H16\"/></svg>ideal ");
		html_duration(out, "ideal_ns", s->ideal_ns);
	}
	buffer_printf(out,
		      "</figcaption>\n<div class=\"plot\"><div class=\"scale\" aria-hidden=\"true\"><span "
		      "class=\"top\" style=\"top:6%%\">%llu</span><span class=\"bottom\" "
		      "style=\"top:100%%\">0</span></div>",
		      (unsigned long long)b.most);
	buffer_printf(
		out,
		"<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-labelledby=\"t-often d-often\"><title id=\"t-often\">Histogram of step times</title>"
		"<desc id=\"d-often\">Half of the steps took %s or less.</desc>\n",
		HTML_WIDE, HIGH, clock_duration(text, WORD_MAX, sketch_quantile(t, 0.5)));
	for (uint32_t i = 0; i < b.count; i++)
		bar_draw(out, &b, i);
	if (s->ideal_ns)
		buffer_printf(out, "<path class=\"ideal\" d=\"M%.1f 0V%d\"/>\n",
			      bar_place(&b, (double)s->ideal_ns), HIGH);
	buffer_printf(out, "</svg><div class=\"below\">");
	bars_labels(out, &b);
	buffer_printf(out, "</div></div>\n</figure>\n");
	html_section_end(out);
}
