/* SPDX-License-Identifier: Apache-2.0 */
/* html_waterfall.c - the waterfall chart: elapsed time minus each kind of time without progress
 * gives goodput. */
#include "userspace/model/time/ledger.h"
#include "userspace/report/html_private.h"

#define LEAST_WIDE 3.0 /* minimum width of a bar in chart units, to be visible on a phone */

static const char *html_waterfall_bucket_class(int id)
{
	switch (id) {
	case BUCKET_GOODPUT:
		return "good";
	case BUCKET_UNOBSERVED:
	case BUCKET_OTHER:
		return "none";
	case BUCKET_HANG:
	case BUCKET_RECOVERY:
	case BUCKET_WASTED:
		return "bad";
	case BUCKET_EVAL:
	case BUCKET_CUSTOM:
		return "info";
	default:
		return "warn";
	}
}

static void html_waterfall_bar(struct buffer *out, const char *label, const char *class,
			       const char *name, uint64_t from_ns, uint64_t ns, uint64_t whole_ns,
			       const char *share)
{
	double unit = whole_ns ? HTML_WIDE / (double)whole_ns : 0, wide = (double)ns * unit,
	       from = (double)from_ns * unit;

	if (ns && wide < LEAST_WIDE)
		wide = LEAST_WIDE;
	if (from > HTML_WIDE - wide)
		from = HTML_WIDE - wide;
	buffer_printf(out, "<li%s><span>",
		      !from_ns && *class == 'g' ? " class=\"sum end\""
		      : *class			? ""
						: " class=\"sum\"");
	html_text(out, label);
	buffer_printf(out,
		      "</span><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
		      "aria-hidden=\"true\"><rect class=\"%s\" x=\"%.1f\" y=\"1\" width=\"%.1f\" "
		      "height=\"8\"/></svg><span class=\"n\">",
		      HTML_WIDE, *class ? class : "info", from, wide);
	html_duration(out, name, ns);
	buffer_printf(out, "</span><span class=\"n dim\">");
	html_text(out, share);
	buffer_printf(out, "</span></li>\n");
}

void html_waterfall(struct buffer *out, const struct report_document *s)
{
	uint64_t elapsed_ns = ledger_elapsed(&s->ledger), left_ns = elapsed_ns,
		 observed_ns = text_observed_ns(&s->ledger);
	struct part parts[PARTS_MAX];
	int n = text_parts(parts, &s->ledger, &s->types);
	char share[WORD_MAX];

	html_section(out, "time", "Where the time went");
	if (!elapsed_ns) {
		buffer_printf(out, "<p>No time was seen.</p>\n");
		html_section_end(out);
		return;
	}
	buffer_printf(
		out,
		"<p class=\"dim small\">From all of the time down to goodput; shares are of what was observed.</p>\n<ul class=\"falls\">\n");
	html_waterfall_bar(out, "elapsed", "", "elapsed", 0, elapsed_ns, elapsed_ns, "");
	/* Draw UNOBSERVED first, as it is not part of the shares, and then the others by size. */
	for (int i = 0; i < n; i++) {
		if (parts[i].id != BUCKET_UNOBSERVED)
			continue;
		left_ns -= parts[i].ns;
		html_waterfall_bar(out, parts[i].label, "none", bucket_name[parts[i].id], left_ns,
				   parts[i].ns, elapsed_ns, "");
	}
	for (int i = 0; i < n; i++) {
		if (parts[i].id == BUCKET_UNOBSERVED || parts[i].id == BUCKET_GOODPUT)
			continue;
		left_ns -= parts[i].ns;
		html_waterfall_bar(out, parts[i].label, html_waterfall_bucket_class(parts[i].id),
				   bucket_name[parts[i].id], left_ns, parts[i].ns, elapsed_ns,
				   text_percent(share, parts[i].ns, observed_ns));
	}
	html_waterfall_bar(out, "goodput", "good", "GOODPUT", 0, left_ns, elapsed_ns,
			   text_percent(share, left_ns, observed_ns));
	buffer_printf(out, "</ul>\n");
	html_section_end(out);
}
