/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h - the last pod and node events, which may be causes of disruptions. */
#ifndef MODEL_NOTICE_H
#define MODEL_NOTICE_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define NOTICES 64

/* names such as "evicted", which are also causes of disruptions */
extern const char *const notice_name[GP_NOTICE_COUNT];

struct notices {
	struct {
		uint64_t reported_ns;
		uint8_t what; /* kind of the event, enum gp_notice_kind; 0: the event has ended */
		char pod_uid[40];
	} at[NOTICES];
	uint64_t count; /* number of events so far */
};

/* Adds an event. Unknown kinds are ignored. n->over: the event has ended, and is no longer
 * considered as a cause of disruptions. */
void notices_add(struct notices *ns, uint64_t now_ns, const struct gp_notice *n);
/* Returns the kind of the event, reported from since_ns on, that may have ended a process of this
 * pod by now_ns, or 0. Events of the pod are preferred to those of the node; then the kind with the
 * lowest number, which is the most specific one. pod_uid: "" if unknown. */
unsigned notices_find(const struct notices *ns, const char *pod_uid, uint64_t since_ns,
		      uint64_t now_ns);
void notices_archive(struct archive *a, struct notices *ns);

#endif
