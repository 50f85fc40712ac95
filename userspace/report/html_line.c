/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline: a lane for each kind of item, so that colour is never the only distinction. */
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

#define LEAST_WIDE                                                                                 \
	3.0 /* width of an item in chart units: on a phone a unit is a third of a pixel */

struct lane {
	struct buffer *out;
	const struct report_document *document;
	bool taken[HTML_WIDE + 1]; /* one item in each unit, so that the page stays small */
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

static void html_line_lane_end(struct lane *l)
{
	buffer_printf(l->out, "</svg></div>\n");
}

/* Returns true if the caller has to write the title, and then to call html_line_thing_end(). */
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

static void html_line_runs(struct lane *l)
{
	const struct report_document *s = l->document;
	char fate[64];

	html_line_lane_begin(l, "runs", s->runs.count + s->runs.earlier);
	for (uint32_t i = 0; i < s->runs.count; i++) {
		const struct document_run *r = DOCUMENT_AT(s->runs, struct document_run, i);

		if (!html_line_thing(l, "good", r->run.start_ns, r->run.last_ns, i % 2))
			continue;
		buffer_printf(l->out, "run %u: %s, %llu step%s", r->run.attempt,
			      document_fate(fate, sizeof(fate), s, r->run.end_ns, r->run.last_ns,
					    r->run.status),
			      (unsigned long long)r->steps, plural(r->steps));
		html_line_thing_end(l);
	}
	html_line_lane_end(l);
}

static void html_line_disruptions(struct lane *l)
{
	const struct report_document *s = l->document;
	char cause[96];

	html_line_lane_begin(l, "disruptions", s->ledger.disruptions);
	for (uint32_t i = 0; i < s->disruptions.count; i++) {
		const struct disruption_row *d = DOCUMENT_AT(s->disruptions, struct disruption_row,
							     i);
		int64_t to_ns = d->recovery_ns > 0 ? d->at_ns + d->recovery_ns : d->at_ns;

		if (!html_line_thing(l, "bad", d->at_ns, to_ns, false))
			continue;
		html_text(l->out, disruption_cause_text(cause, sizeof(cause), d));
		html_line_thing_end(l);
	}
	html_line_lane_end(l);
}

static void html_line_checkpoints(struct lane *l, bool restores)
{
	const struct report_document *s = l->document;

	html_line_lane_begin(l, restores ? "restores" : "checkpoints",
			     restores ? s->restores : s->saves);
	for (uint32_t i = 0; i < s->checkpoints.count; i++) {
		const struct store_checkpoint *c = DOCUMENT_AT(s->checkpoints,
							       struct store_checkpoint, i);

		if (c->restore != restores ||
		    !html_line_thing(l, "info", c->start_ns, c->end_ns, false))
			continue;
		html_text(l->out, *c->file ? c->file : "no name");
		if (c->step != STORE_NONE)
			buffer_printf(l->out, ", step %s%lld",
				      c->estimated && !c->restore ? "~" : "", (long long)c->step);
		html_line_thing_end(l);
	}
	html_line_lane_end(l);
}

static void html_line_trouble(struct lane *l)
{
	const struct report_document *s = l->document;
	char words[96];

	html_line_lane_begin(l, "trouble", s->healths.count + s->healths.earlier);
	for (uint32_t i = 0; i < s->healths.count; i++) {
		const struct store_health *h = DOCUMENT_AT(s->healths, struct store_health, i);
		bool hang = !strcmp(h->kind,
				    "hang"); /* for other kinds size_ns is not a duration */

		if (!html_line_thing(l, "bad", h->at_ns,
				     h->at_ns + (hang ? (int64_t)h->size_ns : 0), false))
			continue;
		html_text(l->out, document_trouble(words, sizeof(words), h));
		html_line_thing_end(l);
	}
	html_line_lane_end(l);
}

static void html_line_notes(struct lane *l, const char *name, const char *class,
			    const struct document_list *list)
{
	html_line_lane_begin(l, name, list->count + list->earlier);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct store_note *n = DOCUMENT_AT(*list, struct store_note, i);

		if (!html_line_thing(l, class, n->at_ns, n->to_ns > n->at_ns ? n->to_ns : n->at_ns,
				     false))
			continue;
		html_text(l->out, n->text);
		html_line_thing_end(l);
	}
	html_line_lane_end(l);
}

void html_timeline(struct buffer *out, const struct report_document *s)
{
	struct lane l = {.out = out, .document = s};

	html_section(out, "line", "What happened");
	buffer_printf(out, "<div class=\"lanes\">\n");
	html_line_runs(&l);
	html_line_disruptions(&l);
	html_line_checkpoints(&l, false);
	if (s->restores)
		html_line_checkpoints(&l, true);
	if (s->healths.count)
		html_line_trouble(&l);
	if (s->marks.count)
		html_line_notes(&l, "marks", "mark", &s->marks);
	if (s->exclusions.count)
		html_line_notes(&l, "left out", "none", &s->exclusions);
	html_clock(out, s);
	buffer_printf(out, "</div>\n");
	html_section_end(out);
}
