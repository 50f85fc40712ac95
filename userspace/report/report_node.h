/* SPDX-License-Identifier: Apache-2.0 */
/* report_node.h - what the service that looks after a node knows of it, as a part of the report's
 * JSON. */
#ifndef REPORT_REPORT_NODE_H
#define REPORT_REPORT_NODE_H

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Nothing where there is no such service. */
void report_node_json(struct buffer *out, const struct snapshot *s);

#endif
