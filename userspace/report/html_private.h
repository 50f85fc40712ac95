/* SPDX-License-Identifier: Apache-2.0 */
/* html_private.h - functions shared by the files that write the HTML report. Use buffer_printf()
 * for markup and numbers only; write all other text with html_text(). */
#ifndef REPORT_HTML_PRIVATE_H
#define REPORT_HTML_PRIVATE_H

#include "userspace/report/document_row.h"
#include "userspace/report/html.h"
#include "userspace/text/format.h"

#define HTML_WIDE 1000 /* width of charts in chart units; browsers scale charts to the page */

extern const char html_style[];

/* Appends a number as an element with its text: <data class="name" value="...">shown</data>. */
void html_data(struct buffer *out, const char *name, uint64_t value, const char *shown);
/* Appends a duration as a <data> element. ns 0 is written as "0 s", not as unknown. */
void html_duration(struct buffer *out, const char *name, uint64_t ns);
void html_count(struct buffer *out, const char *name, uint64_t n); /* "12 345" */
/* Appends an element <time> with UTC to the second. ns: since the epoch. */
void html_time(struct buffer *out, int64_t ns);
/* Begins a section with a heading. id must be a literal: it is not escaped. */
void html_section(struct buffer *out, const char *id, const char *heading);
void html_section_end(struct buffer *out);
/* Returns the position of an instant on the document's time axis, 0 to HTML_WIDE. */
double html_at(const struct report_document *s, int64_t ns);
/* Appends the clock times of the document's time axis, for the foot of a chart. */
void html_clock(struct buffer *out, const struct report_document *s);

/* Writes a computed time as text: "31.2 ms". A double, because it may exceed an integer. */
const char *html_about(char out[WORD_MAX], double ns);

/* Returns the time in ns from which steps are drawn in a separate part of a chart, because a few
 * took far longer than all others; the longest time if there are no such steps. Defined in
 * html_often.c. */
uint64_t html_cut_ns(const struct sketch *t);

/* Append the sections of the page. Defined in html_head.c, html_why.c, html_waterfall.c,
 * html_line.c (timeline), html_step.c, html_often.c and html_table.c. */
void html_head(struct buffer *out, const struct report_document *s);
/* Appends the verdicts, or nothing if none found anything. */
void html_why(struct buffer *out, const struct report_document *s);
void html_waterfall(struct buffer *out, const struct report_document *s);
/* Append throughput and cost, or nothing if they are unknown. Defined in html_cost.c. */
void html_cost_cards(struct buffer *out, const struct report_document *s);
void html_rates(struct buffer *out, const struct report_document *s);
void html_cost(struct buffer *out, const struct report_document *s);
void html_timeline(struct buffer *out, const struct report_document *s);
void html_steps(struct buffer *out, const struct report_document *s);
void html_histogram(struct buffer *out, const struct report_document *s);
/* Appends a section with a table. always: append the section even if the list is empty. */
void html_table(struct buffer *out, const struct report_document *s, const struct document_list *l,
		const struct document_table *t, bool always);
void html_caveats(struct buffer *out, const struct report_document *s);

#endif
