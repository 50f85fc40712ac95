/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: disruptions, runs, ranks, notes; and caveats about the numbers. */

#include "userspace/base/plural.h"
#include "userspace/model/time/ledger.h"
#include "userspace/report/html_private.h"

#define CHECKPOINTS_SHOWN 100

static void html_table_begin(struct buffer *out, const char *caption, const char *const *heads)
{
	buffer_printf(
		out,
		"<p class=\"dim small\">%s</p>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" "
		"aria-label=\"%s\"><table>\n<thead><tr>",
		caption, caption);
	for (; *heads; heads++)
		buffer_printf(out, "<th scope=\"col\"%s>%s</th>",
			      **heads == '>' ? " class=\"n\"" : "",
			      **heads == '>' ? *heads + 1 : *heads);
	buffer_printf(out, "</tr></thead>\n<tbody>\n");
}

static void table_end(struct buffer *out)
{
	buffer_printf(out, "</tbody></table></div>\n");
}

/* A cell with a duration; STORE_NONE: unknown. */
static void html_table_cell_ns(struct buffer *out, const char *name, int64_t ns, bool estimated)
{
	buffer_printf(out, "<td class=\"n\">");
	if (ns == STORE_NONE || ns < 0) {
		buffer_printf(out, "unknown</td>");
		return;
	}
	buffer_printf(out, "%s", estimated ? "about " : "");
	html_duration(out, name, (uint64_t)ns);
	buffer_printf(out, "</td>");
}

static void html_table_cell_text(struct buffer *out, const char *text)
{
	buffer_printf(out, "<td class=\"any\">");
	html_text(out, text);
	buffer_printf(out, "</td>");
}

/* ---- disruptions ----------------------------------------------------------------------------- */

/* The bucket with most of the recovery time. */
static void html_table_split_words(struct buffer *out, const struct disruption_row *d)
{
	int most = -1;
	char share[WORD_MAX];

	for (int i = 0; i < BUCKET_COUNT; i++)
		if (d->split_ns[i] > 0 && (most < 0 || d->split_ns[i] > d->split_ns[most]))
			most = i;
	if (most < 0 || d->recovery_ns <= 0)
		return;
	buffer_printf(out, "<br/><span class=\"dim small\">");
	html_text(out, text_percent(share, (uint64_t)d->split_ns[most], (uint64_t)d->recovery_ns));
	buffer_printf(out, " %s</span>", bucket_label[most]);
}

static void html_table_disruption(struct buffer *out, const struct disruption_row *d, uint32_t n)
{
	char cause[96];

	buffer_printf(out, "<tr><td class=\"n\">%u</td><td>", n);
	html_time(out, d->at_ns);
	buffer_printf(out, "</td><td class=\"any\">");
	html_text(out, disruption_cause_text(cause, sizeof(cause), d));
	if (d->rank >= 0)
		buffer_printf(out, ", rank %d", d->rank);
	buffer_printf(out, "</td><td>");
	if (d->step != STORE_NONE)
		buffer_printf(out, "%lld", (long long)d->step);
	else
		buffer_printf(out, "none");
	if (d->over && d->resumed_step != STORE_NONE)
		buffer_printf(out, " &#8594; %lld", (long long)d->resumed_step);
	buffer_printf(out, "</td>");
	if (!d->over) {
		buffer_printf(out, "<td colspan=\"3\">no step since: cost unknown</td></tr>\n");
		return;
	}
	html_table_cell_ns(out, "down_ns", d->down_ns, false);
	buffer_printf(out, "<td class=\"n\">");
	html_duration(out, "recovery_ns", d->recovery_ns > 0 ? (uint64_t)d->recovery_ns : 0);
	html_table_split_words(out, d);
	buffer_printf(out, "</td>");
	html_table_cell_ns(out, "wasted_ns", d->wasted_ns, d->estimated);
	buffer_printf(out, "</tr>\n");
}

void html_disruptions(struct buffer *out, const struct report_document *s)
{
	static const char *const heads[] = {
		">#",	 "when",       "cause",	  "step &#8594; resumed at",
		">down", ">to a step", ">wasted", NULL};

	html_section(out, "falls", "Disruptions");
	if (!s->disruptions.count) {
		buffer_printf(out, "<p>None was seen.</p>\n");
		html_section_end(out);
		return;
	}
	html_table_begin(
		out,
		"To a step: from the last sign of life to the next productive step. Down: the part of it in which nothing ran; what ran in the rest has kinds of its own above. Wasted: progress that had to be made again.",
		heads);
	for (uint32_t i = 0; i < s->disruptions.count; i++)
		html_table_disruption(out, DOCUMENT_AT(s->disruptions, struct disruption_row, i),
				      i + 1 + (uint32_t)s->disruptions.earlier);
	table_end(out);
	html_section_end(out);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void html_table_checkpoint(struct buffer *out, const struct store_checkpoint *c)
{
	int64_t step = c->restore ? c->saved_step : c->step;
	char words[96];

	buffer_printf(out, "<tr><td>");
	html_time(out, c->start_ns);
	buffer_printf(out, "</td><td class=\"any\">");
	html_text(out, document_checkpoint(words, sizeof(words), c));
	if (c->rank >= 0)
		buffer_printf(out, ", rank %d", c->rank);
	buffer_printf(out, "</td><td class=\"n\">");
	if (step == STORE_NONE)
		buffer_printf(out, "unknown</td>");
	else
		buffer_printf(out, "%s%lld</td>", c->estimated ? "~" : "", (long long)step);
	html_table_cell_ns(out, "checkpoint_ns", c->closed ? c->end_ns - c->start_ns : STORE_NONE,
			   false);
	buffer_printf(out, "<td class=\"n\">%s</td>",
		      c->bytes > 0 ? document_bytes(words, sizeof(words), c->bytes) : "unknown");
	html_table_cell_text(out, *c->file ? c->file : "no name");
	buffer_printf(out, "</tr>\n");
}

void html_checkpoints(struct buffer *out, const struct report_document *s)
{
	static const char *const heads[] = {"when",  "what", ">holds step", ">took",
					    ">size", "file", NULL};
	uint32_t from = s->checkpoints.count > CHECKPOINTS_SHOWN
				? s->checkpoints.count - CHECKPOINTS_SHOWN
				: 0;
	unsigned long long all = s->checkpoints.count + s->checkpoints.earlier;

	if (!s->checkpoints.count)
		return;
	html_section(out, "saves", "Checkpoints");
	if (all > CHECKPOINTS_SHOWN)
		buffer_printf(out, "<p class=\"dim small\">The last %u of %llu.</p>\n",
			      s->checkpoints.count - from, all);
	html_table_begin(
		out,
		"Of one that was read: after which step the job wrote it, and how that is known.",
		heads);
	for (uint32_t i = from; i < s->checkpoints.count; i++)
		html_table_checkpoint(out, DOCUMENT_AT(s->checkpoints, struct store_checkpoint, i));
	table_end(out);
	html_section_end(out);
}

/* ---- runs, ranks ----------------------------------------------------------------------------- */

static void html_table_cell_goodput(struct buffer *out, const struct sums *s)
{
	int64_t good = s->ns[BUCKET_GOODPUT];
	char share[WORD_MAX];

	buffer_printf(out, "<td class=\"n\">");
	html_text(out, text_percent(share, good > 0 ? (uint64_t)good : 0, document_observed_ns(s)));
	buffer_printf(out, "</td>");
}

static void html_table_cell_steps(struct buffer *out, uint64_t steps, const struct report_times *t)
{
	buffer_printf(out, "<td class=\"n\">");
	html_count(out, "steps_each", steps);
	buffer_printf(out, "</td>");
	html_table_cell_ns(out, "p50_each", t->count ? (int64_t)t->p50_ns : STORE_NONE, false);
	html_table_cell_ns(out, "p99_each", t->count ? (int64_t)t->p99_ns : STORE_NONE, false);
}

void html_runs(struct buffer *out, const struct report_document *s)
{
	static const char *const heads[] = {">run",   "began",	  "how it ended",
					    ">ranks", ">steps",	  ">step time, median",
					    ">p99",   ">goodput", NULL};
	char fate[64];

	html_section(out, "runs", "Runs");
	if (!s->runs.count) {
		buffer_printf(out, "<p>None was seen.</p>\n");
		html_section_end(out);
		return;
	}
	html_table_begin(out, "A run ends with its processes; the job goes on with the next.",
			 heads);
	for (uint32_t i = 0; i < s->runs.count; i++) {
		const struct document_run *r = DOCUMENT_AT(s->runs, struct document_run, i);

		buffer_printf(out, "<tr><td class=\"n\">%u</td><td>", r->run.attempt);
		html_time(out, r->run.start_ns);
		buffer_printf(out, "</td><td>%s</td><td class=\"n\">%u</td>",
			      document_fate(fate, sizeof(fate), s, r->run.end_ns, r->run.last_ns,
					    r->run.status),
			      r->run.ranks);
		html_table_cell_steps(out, r->steps, &r->times);
		html_table_cell_goodput(out, &r->sums);
		buffer_printf(out, "</tr>\n");
	}
	table_end(out);
	html_section_end(out);
}

static void html_table_rank(struct buffer *out, const struct document_rank *r, uint64_t most_ns)
{
	char name[WORD_MAX];

	buffer_printf(out, "<tr><td class=\"one\">%s</td><td class=\"n\">%u</td>",
		      r->rank.rank < 0 ? "unknown" : text_rank(name, r->rank.rank, 0), r->rank.pid);
	html_table_cell_steps(out, r->steps, &r->times);
	buffer_printf(
		out,
		"<td><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
		"class=\"info\" y=\"1\" width=\"%.1f\" height=\"8\"/></svg></td>",
		HTML_WIDE, most_ns ? HTML_WIDE * (double)r->times.p50_ns / (double)most_ns : 0);
	html_table_cell_goodput(out, &r->sums);
	buffer_printf(out, "</tr>\n");
}

void html_ranks(struct buffer *out, const struct report_document *s)
{
	static const char *const heads[] = {
		"rank", ">pid",		">steps",   ">step time, median",
		">p99", "side by side", ">goodput", NULL};
	uint64_t most_ns = 0;

	if (s->ranks.count < 2)
		return;
	for (uint32_t i = 0; i < s->ranks.count; i++) {
		uint64_t ns = DOCUMENT_AT(s->ranks, struct document_rank, i)->times.p50_ns;

		most_ns = ns > most_ns ? ns : most_ns;
	}
	html_section(out, "ranks", "Ranks");
	buffer_printf(out, "<p class=\"dim small\">Of run %u.</p>\n", s->attempt);
	html_table_begin(
		out,
		"Ranks that wait for each other show the same step time: the one that is waited for shows in its own goodput.",
		heads);
	for (uint32_t i = 0; i < s->ranks.count; i++)
		html_table_rank(out, DOCUMENT_AT(s->ranks, struct document_rank, i), most_ns);
	table_end(out);
	html_section_end(out);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void html_table_trouble(struct buffer *out, const struct report_document *s)
{
	char words[96];
	static const char *const heads[] = {"when", "what", "rank", ">by", "evidence", NULL};

	html_section(out, "trouble", "Hangs, slowdowns, stragglers, errors");
	html_table_begin(
		out,
		"Of a hang, how long it was; of a slowdown, what a step took more; of a straggler, what the others waited in a step.",
		heads);
	for (uint32_t i = 0; i < s->healths.count; i++) {
		const struct store_health *h = DOCUMENT_AT(s->healths, struct store_health, i);

		if (h->minor)
			continue;
		buffer_printf(out, "<tr><td>");
		html_time(out, h->at_ns);
		buffer_printf(out, "</td><td class=\"any\">");
		html_text(out, document_trouble(words, sizeof(words), h));
		if (!h->over)
			buffer_printf(out, ", not over");
		buffer_printf(out, "</td>");
		if (h->rank < 0)
			buffer_printf(out, "<td>unknown</td>");
		else
			buffer_printf(out, "<td>%d</td>", h->rank);
		html_table_cell_ns(out, "size_ns", (int64_t)h->size_ns, false);
		html_table_cell_text(out, h->evidence);
		buffer_printf(out, "</tr>\n");
	}
	table_end(out);
	if (s->minor)
		buffer_printf(
			out,
			"<p class=\"dim small\">And %u slowdown%s that cost under 0.1 %% of the time%s.</p>\n",
			s->minor, plural(s->minor), s->minor == 1 ? "" : " each");
	html_section_end(out);
}

static void html_table_notes(struct buffer *out, const char *id, const char *heading,
			     const struct document_list *l)
{
	html_section(out, id, heading);
	buffer_printf(out, "<ul class=\"said\">\n");
	for (uint32_t i = 0; i < l->count; i++) {
		const struct store_note *n = DOCUMENT_AT(*l, struct store_note, i);

		buffer_printf(out, "<li class=\"any\">");
		html_time(out, n->at_ns);
		if (n->to_ns > n->at_ns) {
			buffer_printf(out, " to ");
			html_time(out, n->to_ns);
		}
		buffer_printf(out, ": ");
		html_text(out, n->text);
		buffer_printf(out, "</li>\n");
	}
	buffer_printf(out, "</ul>\n");
	html_section_end(out);
}

void html_notes(struct buffer *out, const struct report_document *s)
{
	if (s->healths.count)
		html_table_trouble(out, s);
	if (s->marks.count)
		html_table_notes(out, "marks", "Marks", &s->marks);
	if (s->exclusions.count)
		html_table_notes(out, "without", "Left out", &s->exclusions);
}

void html_caveats(struct buffer *out, const struct report_document *s)
{
	if (!s->ncaveats)
		return;
	html_section(out, "said", "What to know of these numbers");
	buffer_printf(out, "<ul class=\"said\">\n");
	for (uint32_t i = 0; i < s->ncaveats; i++) {
		buffer_printf(out, "<li class=\"any\">");
		html_text(out, s->caveats[i]);
		buffer_printf(out, "</li>\n");
	}
	buffer_printf(out, "</ul>\n");
	html_section_end(out);
}
