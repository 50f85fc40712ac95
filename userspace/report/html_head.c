/* SPDX-License-Identifier: Apache-2.0 */
/* html_head.c - the head of the page: title, the job's state and its main figures. */
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

static void html_head_card(struct buffer *out, const char *name)
{
	buffer_printf(out, "<div><dt>%s</dt><dd>", name);
}

static void html_head_goodput_card(struct buffer *out, const struct report_document *s)
{
	uint64_t observed_ns = text_observed_ns(&s->ledger);
	char text[WORD_MAX], lately[128];

	html_head_card(out, "Goodput");
	buffer_printf(out, "%s</dd><dd>",
		      text_percent(text, s->ledger.ns[BUCKET_GOODPUT], observed_ns)[0] == '<'
			      ? "&lt;0.1 %"
			      : text_percent(text, s->ledger.ns[BUCKET_GOODPUT], observed_ns));
	html_duration(out, "GOODPUT", s->ledger.ns[BUCKET_GOODPUT]);
	buffer_printf(out, " of ");
	html_duration(out, "observed_ns", observed_ns);
	buffer_printf(out, " observed");
	if (document_lately(lately, sizeof(lately), s)) {
		buffer_printf(out, "; last ");
		html_text(out, lately);
	}
	buffer_printf(out, "</dd></div>\n");
}

static void html_head_step_card(struct buffer *out, const struct report_document *s)
{
	const struct report_times *t = &s->times;

	html_head_card(out, "Median step");
	if (!t->count) {
		buffer_printf(out, "unknown</dd></div>\n");
		return;
	}
	html_duration(out, "p50_ns", t->p50_ns);
	buffer_printf(out, "</dd><dd>p95 ");
	html_duration(out, "p95_ns", t->p95_ns);
	buffer_printf(out, ", p99 ");
	html_duration(out, "p99_ns", t->p99_ns);
	buffer_printf(out, ", max ");
	html_duration(out, "max_ns", t->max_ns);
	buffer_printf(out, "</dd></div>\n");
}

static void html_head_disruption_card(struct buffer *out, const struct report_document *s)
{
	html_head_card(out, "Disruptions");
	html_count(out, "disruptions_count", s->ledger.disruptions);
	buffer_printf(out, "</dd><dd>");
	if (!s->ledger.disruptions) {
		buffer_printf(out, "none seen");
	} else if (s->unrecovered >= s->ledger.disruptions) {
		buffer_printf(out, "no step since: cost unknown");
	} else {
		html_duration(out, "recovery", s->recovery_ns);
		buffer_printf(out, " to a step, ");
		html_duration(out, "wasted", s->wasted_ns);
		buffer_printf(out, " wasted");
		if (s->unrecovered)
			buffer_printf(out, "; of %llu of them unknown",
				      (unsigned long long)s->unrecovered);
	}
	buffer_printf(out, "</dd></div>\n");
}

void html_head(struct buffer *out, const struct report_document *s)
{
	uint64_t runs = document_runs(s);
	char verdict[VERDICT_LINE_MAX];

	buffer_printf(out, "<header>\n<h1>");
	html_text(out, document_name(s));
	buffer_printf(out, "</h1>\n<p class=\"dim\">");
	html_text(out, document_state(s));
	buffer_printf(out, ", ");
	html_time(out, s->from_ns);
	buffer_printf(out, " to ");
	html_time(out, s->to_ns);
	buffer_printf(out, " UTC");
	if (s->totals.excluded_ns) {
		buffer_printf(out, document_left_out(s) ? ", all of it: " : ", less ");
		html_duration(out, "excluded_ns", s->totals.excluded_ns);
		buffer_printf(out, " left out");
	}
	buffer_printf(out, "</p>\n<p class=\"verdict\">");
	html_text(out, verdict_line(verdict, sizeof(verdict), &s->verdicts.of[0]));
	buffer_printf(out, "</p>\n</header>\n<dl class=\"cards\">\n");
	html_head_goodput_card(out, s);
	html_head_card(out, "Elapsed");
	html_duration(out, "elapsed_ns", ledger_elapsed(&s->ledger));
	buffer_printf(out, "</dd><dd>%llu run%s</dd></div>\n", (unsigned long long)runs,
		      plural(runs));
	html_head_card(out, "Steps made");
	html_count(out, "steps", s->steps);
	buffer_printf(out, "</dd><dd>");
	if (s->job.max_step) {
		buffer_printf(out, "the highest number is ");
		html_count(out, "max_step", s->job.max_step);
	}
	buffer_printf(out, "</dd></div>\n");
	html_head_disruption_card(out, s);
	html_head_step_card(out, s);
	html_cost_cards(out, s);
	buffer_printf(out, "</dl>\n");
}
