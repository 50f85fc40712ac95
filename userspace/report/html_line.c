/* SPDX-License-Identifier: Apache-2.0 */
/* html_line.c - the timeline chart. Each kind of item has a row of its own, so that colour is never
 * the only distinction. */
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

#define LEAST_WIDE                                                                                 \
	3.0 /* minimum width of an item in chart units, of which three make a pixel on a phone */

struct lane {
	struct buffer *out;
	const struct report_document *document;
	/* Chart units in which a short item begins. Further short items in the same unit are not
	 * drawn, so that the page stays small. */
	bool taken[HTML_WIDE + 1];
};

static void html_line_lane_begin(struct lane *l, const char *name, uint64_t n)
{
	memset(l->taken, 0, sizeof(l->taken));
	buffer_printf(l->out, "<div class=\"lane name\">%s <span class=\"dim\">%llu</span>", name,
		      (unsigned long long)n);
	buffer_printf(
		l->out,
		"</div><div class=\"lane\"><svg viewBox=\"0 0 %d 14\" preserveAspectRatio=\"none\" "
		"role=\"img\"><title>%s over time</title>\n",
		HTML_WIDE, name);
}

/* Begins an item of the chart. low: draw it at half height. Returns true if the caller must write
 * the title and then call html_line_thing_end(); false: the item is not drawn. */
static bool html_line_thing(struct lane *l, const char *class, int64_t from_ns, int64_t to_ns,
			    bool low)
{
	double from = html_at(l->document, from_ns), wide = html_at(l->document, to_ns) - from;
	char text[EPOCH_TEXT_MAX];

	if (wide < LEAST_WIDE) {
		if (l->taken[(int)from])
			return false;
		l->taken[(int)from] = true;
		wide = LEAST_WIDE;
	}
	if (from > HTML_WIDE - wide)
		from = HTML_WIDE - wide;
	buffer_printf(
		l->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%s ",
		class, from, low ? 4 : 1, wide, low ? 6 : 12, epoch_text(text, from_ns / 1000, 0));
	return true;
}

static void html_line_thing_end(struct lane *l)
{
	buffer_printf(l->out, "</title></rect>\n");
}

/* Draws the rows of a table as one lane. restores: draw only restored checkpoints; otherwise draw
 * all other rows. */
static void html_line_lane(struct lane *l, const char *name, uint64_t n,
			   const struct document_list *list, const struct document_table *t,
			   bool restores)
{
	struct document_row r;

	html_line_lane_begin(l, name, n);
	for (uint32_t i = 0; i < list->count; i++) {
		document_row(&r, t, l->document, i);
		if (r.restore != restores ||
		    !html_line_thing(l, t->class, r.at_ns, r.to_ns > r.at_ns ? r.to_ns : r.at_ns,
				     t == &document_runs_table && i % 2))
			continue;
		if (t->number && *t->number != '#')
			buffer_printf(l->out, "%s %llu: ", t->number, (unsigned long long)r.number);
		if (*r.name)
			html_text(l->out, r.more);
		if (*r.name)
			buffer_printf(l->out, " ");
		html_text(l->out, r.what);
		html_line_thing_end(l);
	}
	buffer_printf(l->out, "</svg></div>\n");
}

static void html_line_list(struct lane *l, const char *name, const struct document_list *list,
			   const struct document_table *t)
{
	if (list->count)
		html_line_lane(l, name, list->count + list->earlier, list, t, false);
}

void html_timeline(struct buffer *out, const struct report_document *s)
{
	struct lane l = {.out = out, .document = s};

	html_section(out, "line", "What happened");
	buffer_printf(out, "<div class=\"lanes\">\n");
	html_line_lane(&l, "runs", s->runs.count + s->runs.earlier, &s->runs, &document_runs_table,
		       false);
	html_line_lane(&l, "disruptions", s->ledger.disruptions, &s->disruptions,
		       &document_disruptions_table, false);
	html_line_lane(&l, "checkpoints", s->saves, &s->checkpoints, &document_checkpoints_table,
		       false);
	if (s->restores)
		html_line_lane(&l, "restores", s->restores, &s->checkpoints,
			       &document_checkpoints_table, true);
	html_line_list(&l, "trouble", &s->healths, &document_trouble_table);
	html_line_list(&l, "marks", &s->marks, &document_marks_table);
	html_line_list(&l, "left out", &s->exclusions, &document_exclusions_table);
	html_clock(out, s);
	buffer_printf(out, "</div>\n");
	html_section_end(out);
}
