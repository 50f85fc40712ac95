/* SPDX-License-Identifier: Apache-2.0 */
/* json_line.h - writes a fact as one JSON line, in the format that `gp-bpf schema` prints. Pure. */
#ifndef EXPORT_JSON_LINE_H
#define EXPORT_JSON_LINE_H

#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

#define JSON_SCHEMA_VERSION 1

/* Appends one line with its newline; nothing for types of facts that have no line. last: the
 * snapshot from which an `end` line takes its sums; NULL for other lines. */
void json_line(struct buffer *out, const struct fact *f, const struct snapshot *last);

#endif
