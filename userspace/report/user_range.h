/* SPDX-License-Identifier: Apache-2.0 */
/* user_range.h - prints data that a job provides about itself: named ranges, and figures of its own
 * monitoring. Prints nothing if there is no such data. */
#ifndef REPORT_USER_RANGE_H
#define REPORT_USER_RANGE_H

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"
#include "userspace/text/canvas.h"

/* For the report: write names, and values from column `label` on. cols: limit of the width. */
void user_range_report_ranges(struct canvas *c, const struct rank_view *r,
			      const struct loop_view *l, int label, int cols);
void user_range_report_figures(struct canvas *c, const struct rank_view *r, int label);
/* For the live view: write the ranges, or the figures, as one line. */
void user_range_frame_ranges(struct canvas *c, const struct loop_view *l, int importance);
void user_range_frame_figures(struct canvas *c, const struct rank_view *r, int importance);
/* Append the JSON member "ranges" of a loop, or "monitor" of a rank. */
void user_range_json_ranges(struct buffer *out, const struct loop_view *l);
void user_range_json_figures(struct buffer *out, const struct rank_view *r);

#endif
