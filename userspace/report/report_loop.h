/* SPDX-License-Identifier: Apache-2.0 */
/* report_loop.h - the part of the report about one loop: how its steps were found, their times, and
 * their phases. */
#ifndef REPORT_REPORT_LOOP_H
#define REPORT_REPORT_LOOP_H

#include "userspace/model/snapshot.h"
#include "userspace/report/report_times.h"
#include "userspace/text/canvas.h"

#define REPORT_COLS  100
#define REPORT_LABEL 15 /* column where a fact begins */

/* Returns the width in columns: that of the terminal, at most REPORT_COLS. */
int report_cols(const struct canvas *c);
/* Begins a line with the name of a fact, whose value follows. */
void report_field(struct canvas *c, const char *name);
/* Puts a name and its value into a slot of a table: four slots in a line, fewer if the terminal is
 * narrow. */
void report_figure(struct canvas *c, int slot, const char *name, const char *value);
/* Puts the statistics of step times; nothing if there are no times. */
void report_step_times(struct canvas *c, const struct report_times *t);
void report_loop(struct canvas *c, const struct rank_view *r, const struct loop_view *l);

#endif
