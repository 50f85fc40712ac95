/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the report that gp-bpf prints when a watch ends, made from the last snapshot.
 * Single-threaded. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Appends the report as plain text. cols: width of the terminal, at which lines are wrapped; 0: no
 * limit. color: use ANSI colours. */
void report_text(struct buffer *out, const struct snapshot *s, int cols, bool color);
/* Appends the report of --json: one JSON object on one line. */
void report_json(struct buffer *out, const struct snapshot *s);
/* Like report_json(), for a bug report: command lines are cut to the program and its script. */
void report_json_masked(struct buffer *out, const struct snapshot *s);

#endif
