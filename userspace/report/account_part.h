/* SPDX-License-Identifier: Apache-2.0 */
/* account_part.h - prints goodput and badput of one part of a log (the whole job, a time window, or
 * an instant) as text. */
#ifndef REPORT_ACCOUNT_PART_H
#define REPORT_ACCOUNT_PART_H

#include "userspace/ingest/goodput_names.h"
#include "userspace/account/log/answer.h"
#include "userspace/text/canvas.h"

#define SPAN_TEXT_MAX 32

/* Seconds as clock_duration() writes them, with a sign: "12.5 s", "2 h 05 m"; "unknown" if s is not
 * finite. Returns out. */
const char *span_text(char out[SPAN_TEXT_MAX], double s);

/* Draws the table of p: GOODPUT first, then badputs by size, with bars. The last line compares
 * their sum with whole_s; `whole` is the name of that total. */
void part_table(struct canvas *c, const struct goodput_part *p, double whole_s, const char *whole,
		const char *title, const struct goodput_names *names);
/* Draws one line (the text `left`, elapsed time, goodput and its bar), and below it the largest
 * badputs. */
void part_line(struct canvas *c, const struct goodput_part *p, const char *left);

#endif
