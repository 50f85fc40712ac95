/* SPDX-License-Identifier: Apache-2.0 */
/* report_node.h - the part of the JSON report about `gp-bpf node`. */
#ifndef REPORT_REPORT_NODE_H
#define REPORT_REPORT_NODE_H

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Appends the state of the node's service; nothing if gp-bpf was not started as `gp-bpf node`. */
void report_node_json(struct buffer *out, const struct snapshot *s);

#endif
