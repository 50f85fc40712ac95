/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h - recent pod and node events, which may be causes of disruptions. Pure; the last NOTICES
 * are kept. */
#ifndef MODEL_NOTICE_H
#define MODEL_NOTICE_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define NOTICES 64

extern const char *const notice_name[GP_NOTICE_COUNT]; /* "evicted"; also a cause of disruptions */

struct notices {
	struct {
		uint64_t reported_ns;
		uint8_t what; /* enum gp_notice_kind; 0: the event is over */
		char pod_uid[40];
	} at[NOTICES];
	uint64_t count; /* number of events so far */
};

/* Adds an event; ignores unknown kinds. An event that has ended is not the cause of later
 * disruptions. */
void notices_add(struct notices *ns, uint64_t now_ns, const struct gp_notice *n);
/* Returns the kind of event that may have ended a process of the pod by now_ns, among events
 * reported from since_ns on: events of the pod before those of the node, and among these the kind
 * with the lowest number (the most specific one). pod_uid "": unknown pod. 0: none. */
unsigned notices_find(const struct notices *ns, const char *pod_uid, uint64_t since_ns,
		      uint64_t now_ns);
void notices_archive(struct archive *a, struct notices *ns);

#endif
