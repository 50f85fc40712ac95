/* SPDX-License-Identifier: Apache-2.0 */
/* report_loop.h - the section of the report about one training loop: how its steps were found,
 * their times, and their phases. */
#ifndef REPORT_REPORT_LOOP_H
#define REPORT_REPORT_LOOP_H

#include "userspace/model/snapshot.h"
#include "userspace/report/report_times.h"
#include "userspace/text/canvas.h"

#define REPORT_COLS  100
#define REPORT_LABEL 15 /* column at which values begin */

/* Returns the width of the report in columns: the terminal's width, at most REPORT_COLS. */
int report_cols(const struct canvas *c);
/* Begins a line with the name of a value, which the caller writes next. */
void report_field(struct canvas *c, const char *name);
/* Writes a name and its value into a slot of a table. A line has four slots, fewer if the terminal
 * is narrow. */
void report_figure(struct canvas *c, int slot, const char *name, const char *value);
/* Writes statistics of step times; nothing if there are no times. */
void report_step_times(struct canvas *c, const struct report_times *t);
void report_loop(struct canvas *c, const struct rank_view *r, const struct loop_view *l);

#endif
