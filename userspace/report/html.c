/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - the HTML report: its sections in order. */
#include "userspace/report/html.h"

#include "userspace/report/html_private.h"

void html_report(struct buffer *out, const struct report_document *s)
{
	buffer_printf(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\"/>\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		"<meta name=\"color-scheme\" content=\"light dark\"/>\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n<title>");
	html_text(out, document_name(s));
	buffer_printf(
		out,
		" - where its time went</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
		html_style);
	html_head(out, s);
	html_why(out, s);
	html_waterfall(out, s);
	html_cost(out, s);
	html_rates(out, s);
	html_timeline(out, s);
	html_steps(out, s);
	html_histogram(out, s);
	html_table(out, s, &s->disruptions, &document_disruptions_table, true);
	html_table(out, s, &s->checkpoints, &document_checkpoints_table, false);
	html_table(out, s, &s->runs, &document_runs_table, true);
	if (s->ranks.count > 1)
		html_table(out, s, &s->ranks, &document_ranks_table, false);
	html_table(out, s, &s->healths, &document_trouble_table, false);
	html_table(out, s, &s->marks, &document_marks_table, false);
	html_table(out, s, &s->exclusions, &document_exclusions_table, false);
	html_caveats(out, s);
	buffer_printf(out, "</main>\n<footer><p>gp-bpf " GP_VERSION
			   ". Times are UTC.</p></footer>\n</body>\n</html>\n");
}
