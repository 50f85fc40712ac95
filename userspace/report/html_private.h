/* SPDX-License-Identifier: Apache-2.0 */
/* html_private.h - shared by the parts of a page. Use buffer_printf() for markup and numbers only;
 * all other text goes through html_text(). */
#ifndef REPORT_HTML_PRIVATE_H
#define REPORT_HTML_PRIVATE_H

#include "userspace/report/document_row.h"
#include "userspace/report/html.h"
#include "userspace/text/format.h"

#define HTML_WIDE 1000 /* width of charts in chart units; charts are scaled to the page */

extern const char html_style[];

/* Appends a number and its text: <data class="name" value="...">shown</data>. */
void html_data(struct buffer *out, const char *name, uint64_t value, const char *shown);
void html_duration(struct buffer *out, const char *name, uint64_t ns); /* 0 means 0, not unknown */
void html_count(struct buffer *out, const char *name, uint64_t n);     /* "12 345" */
/* Appends <time>: UTC, in seconds. */
void html_time(struct buffer *out, int64_t ns);
/* Begins a section with a heading; id is a literal. */
void html_section(struct buffer *out, const char *id, const char *heading);
void html_section_end(struct buffer *out);
/* Returns the position of an instant on the document's time axis, 0 to HTML_WIDE. */
double html_at(const struct report_document *s, int64_t ns);
/* Appends labels below a chart, for the document's time axis. */
void html_clock(struct buffer *out, const struct report_document *s);

/* Writes "31.2 ms" for a computed time, which may exceed an integer. */
const char *html_about(char out[WORD_MAX], double ns);

/* html_often.c: returns the time above which steps are shown apart, because a few took far longer
 * than the others; the greatest time if no steps are shown apart. */
uint64_t html_cut_ns(const struct sketch *t);

/* html_head.c, html_waterfall.c, html_line.c (timeline), html_step.c, html_often.c,
 * html_table.c */
void html_head(struct buffer *out, const struct report_document *s);
void html_waterfall(struct buffer *out, const struct report_document *s);
/* html_cost.c: these append nothing if the figures are unknown. */
void html_cost_cards(struct buffer *out, const struct report_document *s);
void html_rates(struct buffer *out, const struct report_document *s);
void html_cost(struct buffer *out, const struct report_document *s);
void html_timeline(struct buffer *out, const struct report_document *s);
void html_steps(struct buffer *out, const struct report_document *s);
void html_histogram(struct buffer *out, const struct report_document *s);
/* Appends a section with a table. always: also if the list is empty. */
void html_table(struct buffer *out, const struct report_document *s, const struct document_list *l,
		const struct document_table *t, bool always);
void html_caveats(struct buffer *out, const struct report_document *s);

#endif
