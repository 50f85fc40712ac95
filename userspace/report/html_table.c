/* SPDX-License-Identifier: Apache-2.0 */
/* html_table.c - the page's tables, one for each list of the document, and the caveats about its
 * numbers. */
#include "userspace/base/plural.h"
#include "userspace/report/html_private.h"

static void html_table_head(struct buffer *out, const char *text, bool right)
{
	if (!text)
		return;
	buffer_printf(out, "<th scope=\"col\"%s>", right ? " class=\"n\"" : "");
	html_text(out, text);
	buffer_printf(out, "</th>");
}

static void html_table_heads(struct buffer *out, const struct document_table *t)
{
	buffer_printf(
		out,
		"<p class=\"dim small\">%s</p>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" "
		"aria-label=\"%s\"><table>\n<thead><tr>",
		t->caption, t->caption);
	html_table_head(out, t->number, true);
	html_table_head(out, t->when ? t->when : "rank", false);
	html_table_head(out, t->what, false);
	for (int k = 0; k < DOCUMENT_CELLS; k++)
		html_table_head(out, t->cell[k], true);
	html_table_head(out, t->bar, false);
	html_table_head(out, t->more, false);
	buffer_printf(out, "</tr></thead>\n<tbody>\n");
}

static void html_table_cell(struct buffer *out, const struct document_cell *c)
{
	buffer_printf(out, "<td class=\"n\">%s", c->estimated ? "about " : "");
	if (c->count)
		html_count(out, c->name, c->value);
	else if (c->name)
		html_data(out, c->name, c->value, c->text);
	else
		html_text(out, c->text);
	if (*c->note) {
		buffer_printf(out, "<br/><span class=\"dim small\">");
		html_text(out, c->note);
		buffer_printf(out, "</span>");
	}
	buffer_printf(out, "</td>");
}

static void html_table_cell_text(struct buffer *out, const char *text)
{
	buffer_printf(out, "<td class=\"any\">");
	html_text(out, text);
	buffer_printf(out, "</td>");
}

/* Appends a table row. most: the greatest value of the second cell in all rows, which sets the
 * scale of the bars. */
static void html_table_row(struct buffer *out, const struct document_table *t,
			   const struct document_row *r, uint64_t most)
{
	buffer_printf(out, "<tr>");
	if (t->number)
		buffer_printf(out, "<td class=\"n\">%llu</td>", (unsigned long long)r->number);
	buffer_printf(out, "<td class=\"one\">");
	if (t->when)
		html_time(out, r->at_ns);
	else
		html_text(out, r->name);
	buffer_printf(out, "</td>");
	html_table_cell_text(out, r->what);
	for (int k = 0; k < DOCUMENT_CELLS; k++)
		if (t->cell[k])
			html_table_cell(out, &r->cell[k]);
	if (t->bar)
		buffer_printf(
			out,
			"<td><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
			"class=\"info\" y=\"1\" width=\"%.1f\" height=\"8\"/></svg></td>",
			HTML_WIDE, most ? HTML_WIDE * (double)r->cell[1].value / (double)most : 0);
	if (t->more)
		html_table_cell_text(out, r->more);
	buffer_printf(out, "</tr>\n");
}

static void html_table_rows(struct buffer *out, const struct report_document *s,
			    const struct document_list *l, const struct document_table *t)
{
	uint32_t first = t->shown && l->count > t->shown ? l->count - t->shown : 0;
	struct document_row r;
	uint64_t most = 0;

	if (first || l->earlier)
		buffer_printf(out, "<p class=\"dim small\">The %s %u of %llu.</p>\n",
			      t->when ? "last" : "first", l->count - first,
			      (unsigned long long)l->count + l->earlier);
	html_table_heads(out, t);
	for (uint32_t i = first; t->bar && i < l->count; i++) {
		document_row(&r, t, s, i);
		most = r.cell[1].value > most ? r.cell[1].value : most;
	}
	for (uint32_t i = first; i < l->count; i++) {
		document_row(&r, t, s, i);
		if (!r.hidden)
			html_table_row(out, t, &r, most);
	}
	buffer_printf(out, "</tbody></table></div>\n");
}

void html_table(struct buffer *out, const struct report_document *s, const struct document_list *l,
		const struct document_table *t, bool always)
{
	if (!l->count && !always)
		return;
	html_section(out, t->id, t->heading);
	if (t == &document_ranks_table)
		buffer_printf(out, "<p class=\"dim small\">Of run %u.</p>\n", s->attempt);
	if (l->count)
		html_table_rows(out, s, l, t);
	else
		buffer_printf(out, "<p>None was seen.</p>\n");
	if (t == &document_trouble_table && s->minor)
		buffer_printf(
			out,
			"<p class=\"dim small\">And %u slowdown%s that cost under 0.1 %% of the time%s.</p>\n",
			s->minor, plural(s->minor), s->minor == 1 ? "" : " each");
	html_section_end(out);
}

void html_caveats(struct buffer *out, const struct report_document *s)
{
	if (!s->ncaveats)
		return;
	html_section(out, "said", "What to know about these numbers");
	buffer_printf(out, "<ul class=\"said\">\n");
	for (uint32_t i = 0; i < s->ncaveats; i++) {
		buffer_printf(out, "<li class=\"any\">");
		html_text(out, s->caveats[i]);
		buffer_printf(out, "</li>\n");
	}
	buffer_printf(out, "</ul>\n");
	html_section_end(out);
}
