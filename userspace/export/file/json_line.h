/* SPDX-License-Identifier: Apache-2.0 */
/* json_line.h - a fact as one JSON line; `gp-bpf schema` describes it. Pure. */
#ifndef EXPORT_JSON_LINE_H
#define EXPORT_JSON_LINE_H

#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

#define JSON_SCHEMA_VERSION 1

/* Appends one line with its newline. last: the snapshot from which an `end` line takes its sums;
 * NULL for other lines. A type of fact without a line appends nothing. */
void json_line(struct buffer *out, const struct fact *f, const struct snapshot *last);

#endif
