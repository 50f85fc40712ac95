/* SPDX-License-Identifier: Apache-2.0 */
/* html_often.c - the histogram of step times, on a logarithmic scale. */
#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

#define HIGH	  250 /* height of the chart in chart units */
#define BARS_MAX  60
#define TICKS	  5
#define CUT_STEPS 100

uint64_t html_cut_ns(const struct sketch *t)
{
	uint64_t cut_ns = sketch_quantile(t, 0.99);

	cut_ns += cut_ns / 5;
	return t->count >= CUT_STEPS && t->max_ns > cut_ns + cut_ns / 2 ? cut_ns : t->max_ns;
}

struct bars {
	const struct sketch *times;
	/* low: first class of the sketch that is drawn; each: number of classes in a bar; count:
	 * number of bars */
	uint32_t low, each, count;
	/* number of positions for bars: `count`; two more if steps that took far longer are drawn
	 * as one separate bar */
	uint32_t slots;
	uint64_t steps[BARS_MAX + 2], most, over;
	double over_from_ns;
};

static void html_often_bar_add(struct bars *b, uint16_t class, uint64_t count)
{
	uint32_t bar = (class - b->low) / b->each;

	if (bar >= b->count) {
		bar = b->count + 1;
		b->slots = b->count + 2;
		if (!b->over)
			b->over_from_ns = sketch_class_ns(b->times, class);
		b->over += count;
	}
	b->steps[bar] += count;
	b->most = b->steps[bar] > b->most ? b->steps[bar] : b->most;
}

static void html_often_bars_make(struct bars *b, const struct sketch *t)
{
	double cut_ns = (double)html_cut_ns(t);
	uint32_t low = t->at[0].class, high = low + 1;

	for (uint16_t i = 0; i < t->used; i++)
		if (sketch_class_ns(t, t->at[i].class) <= cut_ns)
			high = t->at[i].class + 1u;
	*b = (struct bars){.times = t, .low = low, .each = (high - low + BARS_MAX - 1) / BARS_MAX};
	b->count = b->slots = (high - low + b->each - 1) / b->each;
	for (uint16_t i = 0; i < t->used; i++)
		html_often_bar_add(b, t->at[i].class, t->at[i].count);
}

static double html_often_bars_edge_ns(const struct bars *b, uint32_t bar)
{
	return sketch_class_ns(b->times, b->low + bar * b->each);
}

/* Returns the horizontal position of a time. Classes have equal widths, so the scale is logarithmic
 * except within a power of two. */
static double html_often_bar_place(const struct bars *b, double ns)
{
	uint32_t i = 0;
	double from, to, at;

	while (i + 1 < b->count && html_often_bars_edge_ns(b, i + 1) <= ns)
		i++;
	from = html_often_bars_edge_ns(b, i);
	to = html_often_bars_edge_ns(b, i + 1);
	at = (i + (ns - from) / (to - from)) * HTML_WIDE / b->slots;
	return at < 0 ? 0 : at > HTML_WIDE ? HTML_WIDE : at;
}

static void html_often_bar_draw(struct buffer *out, const struct bars *b, uint32_t i)
{
	double wide = (double)HTML_WIDE / b->slots,
	       high = 0.94 * HIGH * (double)b->steps[i] / (double)b->most;
	double begin = i < b->count ? html_often_bars_edge_ns(b, i) : b->over_from_ns,
	       end = i < b->count ? html_often_bars_edge_ns(b, i + 1) : (double)b->times->max_ns;
	char from[WORD_MAX], to[WORD_MAX];

	if (!b->steps[i])
		return;
	if (high < 4)
		high = 4;
	buffer_printf(
		out,
		"<rect class=\"info\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s to %s: %llu step%s</title></rect>\n",
		i * wide + wide * 0.06, HIGH - high, wide * 0.88, high, html_about(from, begin),
		html_about(to, end), (unsigned long long)b->steps[i], plural(b->steps[i]));
}

static void html_often_bars_labels(struct buffer *out, const struct bars *b)
{
	char text[WORD_MAX];

	buffer_printf(out, "<p class=\"clock\" style=\"width:%.1f%%\" aria-hidden=\"true\">",
		      100.0 * b->count / b->slots);
	for (uint32_t i = 0; i < TICKS; i++) {
		double at = (double)b->count * i / (TICKS - 1);
		uint32_t bar = (uint32_t)at;
		double ns = html_often_bars_edge_ns(b, bar) +
			    (at - bar) * (html_often_bars_edge_ns(b, bar + 1) -
					  html_often_bars_edge_ns(b, bar));

		buffer_printf(out, "<span>%s</span>", html_about(text, ns));
	}
	buffer_printf(out, "</p>\n");
}

void html_histogram(struct buffer *out, const struct report_document *s)
{
	const struct sketch *t = &s->totals.times;
	char text[WORD_MAX], high[WORD_MAX];
	struct bars b;

	if (!t->count)
		return;
	html_often_bars_make(&b, t);
	html_section(out, "often", "How often a step took how long");
	buffer_printf(out, "<figure>\n<figcaption>");
	html_count(out, "times", t->count);
	buffer_printf(out, " steps, on a logarithmic scale; even a single one has a bar");
	if (b.over)
		buffer_printf(out, "; the last bar, set apart, has %llu step%s of %s to %s",
			      (unsigned long long)b.over, plural(b.over),
			      html_about(text, b.over_from_ns),
			      clock_duration(high, WORD_MAX, t->max_ns));
	if (s->times.ideal_ns) {
		buffer_printf(out,
			      " <svg class=\"key\" viewBox=\"0 0 16 7\" aria-hidden=\"true\"><path "
			      "class=\"ideal\" d=\"M0 3.5H16\"/></svg>ideal ");
		html_duration(out, "ideal_ns", s->times.ideal_ns);
	}
	buffer_printf(
		out,
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
	for (uint32_t i = 0; i < b.slots; i++)
		html_often_bar_draw(out, &b, i);
	if (s->times.ideal_ns)
		buffer_printf(out, "<path class=\"ideal\" d=\"M%.1f 0V%d\"/>\n",
			      html_often_bar_place(&b, (double)s->times.ideal_ns), HIGH);
	buffer_printf(out, "</svg><div class=\"below\">");
	html_often_bars_labels(out, &b);
	buffer_printf(out, "</div></div>\n</figure>\n");
	html_section_end(out);
}
