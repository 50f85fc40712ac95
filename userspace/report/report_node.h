/* SPDX-License-Identifier: Apache-2.0 */
/* report_node.h - the state of gp-bpf node, in the JSON report. */
#ifndef REPORT_REPORT_NODE_H
#define REPORT_REPORT_NODE_H

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Appends nothing if gp-bpf does not run as the service of a node. */
void report_node_json(struct buffer *out, const struct snapshot *s);

#endif
