/* SPDX-License-Identifier: Apache-2.0 */
/* report_loop.h - the part of the report on one loop: what ends its steps, their times, and what is
 * in them.
 */
#ifndef VIEW_REPORT_LOOP_H
#define VIEW_REPORT_LOOP_H

#include "userspace/model/snapshot.h"
#include "userspace/view/canvas.h"

#define REPORT_COLS  100
#define REPORT_LABEL 15 /* column where a fact begins */

/* A new line with its name; the fact comes next. */
void report_field(struct canvas *c, const char *name);
void report_loop(struct canvas *c, const struct rank_view *r, const struct loop_view *l);

#endif
