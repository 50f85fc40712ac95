/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h - what was said to be done to pods and to the node of late: causes of disruptions. Pure;
 * the last NOTICES are kept. */
#ifndef MODEL_NOTICE_H
#define MODEL_NOTICE_H

#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define NOTICES 64

extern const char *const notice_name[GP_NOTICE_COUNT]; /* "evicted"; a disruption's cause */

struct notices {
	struct {
		uint64_t told_ns;
		uint8_t what; /* enum gp_notice_kind; 0: it is over */
		char pod_uid[40];
	} at[NOTICES];
	uint64_t count; /* ever */
};

/* Of a kind that is not known: nothing. What is over is no cause of what comes later. */
void notices_add(struct notices *ns, uint64_t now_ns, const struct gp_notice *n);
/* What may have ended a process of that pod ("": of none that is known) by now_ns, said no earlier
 * than since_ns: the kind that says most (in the order of their numbers); of the pod before of the
 * node. 0: none.
 */
unsigned notices_find(const struct notices *ns, const char *pod_uid, uint64_t since_ns,
		      uint64_t now_ns);
void notices_archive(struct archive *a, struct notices *ns);

#endif
