/* SPDX-License-Identifier: Apache-2.0 */
/* json_line.h - a fact as one JSON line; gp-bpf schema describes it. Pure. */
#ifndef EXPORT_JSON_LINE_H
#define EXPORT_JSON_LINE_H

#include "userspace/base/buffer.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/snapshot.h"

#define JSON_SCHEMA_VERSION 1

/* Appends one line, newline included. last: the snapshot an `end` line takes its sums from; NULL
 * for any other line. A fact of a type that has no line adds nothing. */
void json_line(struct buffer *out, const struct fact *f, const struct snapshot *last);

#endif
