/* SPDX-License-Identifier: Apache-2.0 */
/* html_cost.c - the parts of the page about throughput, accelerator time and cost. Figures that are
 * unknown are not shown. */
#include <stdio.h>

#include "userspace/report/html_private.h"
#include "userspace/report/report_program.h"

static bool html_cost_known(const struct report_document *s)
{
	return report_cost_asked(&s->program) && report_accelerator_ns(s->accelerator_ns) > 0;
}

static bool html_cost_rates_known(const struct report_document *s)
{
	const struct program_rate *r = &s->rates.steps;

	return r->samples > 0 || r->tokens > 0 || r->flops > 0;
}

static void html_cost_card(struct buffer *out, const char *name, const char *value,
			   const char *more)
{
	buffer_printf(out, "<div><dt>%s</dt><dd>", name);
	html_text(out, value);
	buffer_printf(out, "</dd><dd>");
	html_text(out, more);
	buffer_printf(out, "</dd></div>\n");
}

void html_cost_cards(struct buffer *out, const struct report_document *s)
{
	const struct program_view *p = &s->rates;
	char value[REPORT_WORD], part[REPORT_WORD], more[2 * REPORT_WORD];

	if (p->elapsed.mfu > 0) {
		snprintf(more, sizeof(more), "of observed time; in steps %s",
			 report_share(part, p->steps.mfu));
		html_cost_card(out, "MFU", report_share(value, p->elapsed.mfu), more);
	}
	if (!html_cost_known(s))
		return;
	if (s->program.price > 0) {
		snprintf(more, sizeof(more), "%s accelerator-hours",
			 report_hours(part, report_accelerator_ns(s->accelerator_ns)));
		html_cost_card(
			out, "Cost",
			report_money(value, &s->program, report_accelerator_ns(s->accelerator_ns)),
			more);
	} else {
		html_cost_card(out, "Accelerator-hours",
			       report_hours(value, report_accelerator_ns(s->accelerator_ns)),
			       "of all ranks here");
	}
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void html_cost_rate_cell(struct buffer *out, bool asked, const char *text)
{
	if (!asked)
		return;
	buffer_printf(out, "<td class=\"n\">");
	html_text(out, text);
	buffer_printf(out, "</td>");
}

static void html_cost_rate(struct buffer *out, const char *name, const struct report_document *s,
			   const struct program_rate *r)
{
	const struct program_config *c = &s->program;
	char text[REPORT_WORD], si[32];

	buffer_printf(out, "<tr><td>%s</td>", name);
	html_cost_rate_cell(out, c->samples > 0, report_si(si, r->samples));
	html_cost_rate_cell(out, c->tokens > 0, report_si(si, r->tokens));
	html_cost_rate_cell(out, report_flops(c, &s->rates) > 0, report_si(si, r->flops));
	html_cost_rate_cell(out, report_flops(c, &s->rates) > 0,
			    report_share(text, report_utilization(&s->rates, r)));
	buffer_printf(out, "</tr>\n");
}

/* Describes the job's accelerators, and goodput as the product of its factors. */
static void html_cost_rate_words(struct buffer *out, const struct report_document *s)
{
	const struct program_config *c = &s->program;
	const struct program_view *p = &s->rates;
	char text[REPORT_WORD], words[REPORT_FLOPS];

	if (!(c->flops > 0) && p->flops > 0) {
		buffer_printf(out, "<p class=\"dim small\">Operations: ");
		html_text(out, report_flops_words(words, p));
		buffer_printf(out, ": ");
		report_operations_words(out, p);
		buffer_printf(out, ".</p>\n");
	}
	if (!(c->flops > 0) && !(s->rates.flops > 0 && p->accelerators > 0))
		return;
	buffer_printf(out, "<p class=\"dim small\">Accelerators: ");
	if (p->accelerators > 0)
		buffer_printf(out, "%.0f", p->accelerators);
	else
		buffer_printf(out, "number unknown");
	if (*c->accelerator)
		buffer_printf(out, " ");
	html_text(out, c->accelerator);
	buffer_printf(out, ", peak ");
	report_peak_words(out, c, p);
	buffer_printf(out, ".");
	if (p->program > 0) {
		buffer_printf(out, " Goodput: runtime ");
		html_text(out, report_share(text, p->runtime));
		buffer_printf(out, " × program ");
		html_text(out, report_share(text, p->program));
		buffer_printf(out, " (MFU of productive time).");
	}
	if (report_utilization(p, &p->steps) > 1)
		buffer_printf(
			out,
			" An MFU beyond 100 %% is impossible: --flops, --peak-tflops or --accelerators is wrong.");
	buffer_printf(out, "</p>\n");
}

void html_rates(struct buffer *out, const struct report_document *s)
{
	const struct program_config *c = &s->program;

	if (!html_cost_rates_known(s))
		return;
	html_section(out, "rates", "Throughput per second");
	buffer_printf(
		out,
		"<p class=\"dim small\">Over the time of the steps, and over all observed time, of the steps that count.</p>\n<div class=\"wide\"><table class=\"tight\">\n<thead><tr><th scope=\"col\"></th>");
	if (c->samples > 0)
		buffer_printf(out, "<th scope=\"col\" class=\"n\">samples</th>");
	if (c->tokens > 0)
		buffer_printf(out, "<th scope=\"col\" class=\"n\">tokens</th>");
	if (report_flops(c, &s->rates) > 0)
		buffer_printf(
			out,
			"<th scope=\"col\" class=\"n\">FLOP</th><th scope=\"col\" class=\"n\">%s</th>",
			report_utilization_name(&s->rates));
	buffer_printf(out, "</tr></thead>\n<tbody>\n");
	html_cost_rate(out, "in steps", s, &s->rates.steps);
	html_cost_rate(out, "of observed", s, &s->rates.elapsed);
	buffer_printf(out, "</tbody></table></div>\n");
	html_cost_rate_words(out, s);
	html_section_end(out);
}

/* ---- accelerators ---------------------------------------------------------------------------- */

static void html_cost_row(struct buffer *out, const struct report_document *s, const char *label,
			  const char *class, double ns)
{
	char text[REPORT_WORD];

	buffer_printf(out, "<tr%s><td>%s</td><td class=\"n\">", class, label);
	html_text(out, report_hours(text, ns));
	buffer_printf(out, "</td><td class=\"n\">");
	html_text(out, report_share(text, ns / report_accelerator_ns(s->accelerator_ns)));
	buffer_printf(out, "</td>");
	if (s->program.price > 0) {
		buffer_printf(out, "<td class=\"n\">");
		html_text(out, report_money(text, &s->program, ns));
		buffer_printf(out, "</td>");
	}
	buffer_printf(out, "</tr>\n");
}

/* Returns the largest bucket that is not marked in `shown`; GOODPUT always comes first.
 * BUCKETS_EXPORTED: all buckets are marked. */
static int html_cost_next(const struct report_document *s, bool shown[BUCKETS_EXPORTED])
{
	int most = BUCKETS_EXPORTED;

	if (!shown[BUCKET_GOODPUT] && s->accelerator_ns[BUCKET_GOODPUT] > 0)
		most = BUCKET_GOODPUT;
	for (int b = 0; most != BUCKET_GOODPUT && b < BUCKETS_EXPORTED; b++)
		if (!shown[b] && s->accelerator_ns[b] > 0 &&
		    (most == BUCKETS_EXPORTED || s->accelerator_ns[b] > s->accelerator_ns[most]))
			most = b;
	if (most < BUCKETS_EXPORTED)
		shown[most] = true;
	return most;
}

void html_cost(struct buffer *out, const struct report_document *s)
{
	bool shown[BUCKETS_EXPORTED] = {0};

	if (!html_cost_known(s))
		return;
	html_section(out, "worth", "Accelerator time");
	buffer_printf(
		out,
		"<p class=\"dim small\">Of all ranks seen here, over all runs, outages included.</p>\n"
		"<div class=\"wide\"><table class=\"tight\">\n<thead><tr><th scope=\"col\"></th><th "
		"scope=\"col\" class=\"n\">hours</th><th scope=\"col\" class=\"n\">share</th>");
	if (s->program.price > 0)
		buffer_printf(out, "<th scope=\"col\" class=\"n\">cost</th>");
	buffer_printf(out, "</tr></thead>\n<tbody>\n");
	for (int b; (b = html_cost_next(s, shown)) < BUCKETS_EXPORTED;)
		html_cost_row(out, s, bucket_label[b], "", s->accelerator_ns[b]);
	html_cost_row(out, s, "sum", " class=\"sum\"", report_accelerator_ns(s->accelerator_ns));
	buffer_printf(out, "</tbody></table></div>\n");
	html_section_end(out);
}
