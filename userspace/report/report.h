/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the report at the end of a run, from the last snapshot. Single-threaded. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Plain text. cols: width of the terminal, where longer lines are wrapped; 0: no limit. color: use
 * ANSI colours. */
void report_text(struct buffer *out, const struct snapshot *s, int cols, bool color);
/* --json: the same facts as one JSON object on one line. */
void report_json(struct buffer *out, const struct snapshot *s);
/* The same for a bug report: of command lines only the program and its script. */
void report_json_masked(struct buffer *out, const struct snapshot *s);

#endif
