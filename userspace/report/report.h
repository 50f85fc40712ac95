/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a person reads at the end: functions of the last snapshot. Single-threaded. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* The report at the end, plain text, from the last snapshot only. cols: of the terminal, where
 * longer lines are wrapped; 0: no bound. color: ANSI allowed. */
void report_text(struct buffer *out, const struct snapshot *s, int cols, bool color);
/* --json: the same facts as one JSON object on one line. */
void report_json(struct buffer *out, const struct snapshot *s);
/* The same for others to read: of command lines the program and its script alone. */
void report_json_masked(struct buffer *out, const struct snapshot *s);

#endif
