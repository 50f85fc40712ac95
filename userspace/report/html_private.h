/* SPDX-License-Identifier: Apache-2.0 */
/* html_private.h - what the parts of a page share. buffer_printf() is for markup and numbers;
 * whatever comes from elsewhere goes through html_text(). */
#ifndef REPORT_HTML_PRIVATE_H
#define REPORT_HTML_PRIVATE_H

#include "userspace/report/html.h"
#include "userspace/text/words.h"

#define HTML_WIDE 1000 /* of charts, in their own units; they are as wide as there is room */

extern const char html_style[];

/* A number and how it is shown: <data class="name" value="...">shown</data>. */
void html_data(struct buffer *out, const char *name, uint64_t value, const char *shown);
void html_duration(struct buffer *out, const char *name, uint64_t ns); /* 0 is 0, not unknown */
void html_count(struct buffer *out, const char *name, uint64_t n);     /* "12 345" */
/* <time>: UTC, to the second. */
void html_time(struct buffer *out, int64_t ns);
/* Section with a heading; id is a literal. */
void html_section(struct buffer *out, const char *id, const char *heading);
void html_section_end(struct buffer *out);
/* Place of an instant in the story's time, 0 to HTML_WIDE. */
double html_at(const struct story *s, int64_t ns);
/* Labels below a chart over the story's time. */
void html_clock(struct buffer *out, const struct story *s);

/* "31.2 ms" of a time that was computed: it may be beyond what an integer holds. */
const char *html_about(char out[WORD_MAX], double ns);

/* html_often.c: beyond it are the few steps that took far longer than the others; the greatest
 * time: there are none. */
uint64_t html_cut_ns(const struct sketch *t);

/* html_head.c, html_waterfall.c, html_line.c (timeline), html_step.c, html_often.c,
 * html_table.c */
void html_head(struct buffer *out, const struct story *s);
void html_waterfall(struct buffer *out, const struct story *s);
/* html_worth.c: nothing where it is not known. */
void html_worth_cards(struct buffer *out, const struct story *s);
void html_rates(struct buffer *out, const struct story *s);
void html_worth(struct buffer *out, const struct story *s);
void html_timeline(struct buffer *out, const struct story *s);
void html_steps(struct buffer *out, const struct story *s);
void html_histogram(struct buffer *out, const struct story *s);
void html_disruptions(struct buffer *out, const struct story *s);
void html_checkpoints(struct buffer *out, const struct story *s);
void html_runs(struct buffer *out, const struct story *s);
void html_ranks(struct buffer *out, const struct story *s);
void html_notes(struct buffer *out, const struct story *s);
void html_said(struct buffer *out, const struct story *s);

#endif
