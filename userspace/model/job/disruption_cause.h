/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_cause.h - the causes of disruptions: their names in outputs and their attributes. */
#ifndef MODEL_DISRUPTION_CAUSE_H
#define MODEL_DISRUPTION_CAUSE_H

#include <stdbool.h>

#include "userspace/model/signal/device_code.h"

/* Attributes of causes (bits). CAUSE_YIELDS_EVENT: an event of the pod or node shortly before
 * replaces the cause, because it is more exact. CAUSE_YIELDS_FAULT: an error of a device shortly
 * before replaces it. CAUSE_ENDS_PROCESS: an event that ends processes. */
#define CAUSE_YIELDS_EVENT 2
#define CAUSE_YIELDS_FAULT 4
#define CAUSE_ENDS_PROCESS 8
/* Size in bytes of the longest name, with its NUL. */
#define DISRUPTION_CAUSE_MAX 24

/* The id is the cause's name in outputs, the store, handoffs and saved states. Each kind of device
 * error (FAULT_KINDS) and each pod or node event (GP_NOTICES) has a row of the same name. */
#define DISRUPTION_CAUSES(X)	      /* id, attributes */                                         \
	X(killed, CAUSE_YIELDS_EVENT) /* ended by a signal from another process */                 \
	X(crashed, CAUSE_YIELDS_EVENT | CAUSE_YIELDS_FAULT) /* ended by a signal of its own */     \
	X(exit, CAUSE_YIELDS_EVENT | CAUSE_YIELDS_FAULT)    /* ended with a status other than 0 */ \
	X(oom, CAUSE_ENDS_PROCESS)			    /* out of host memory */               \
	X(exec, 0)		     /* the process now runs another program */                    \
	X(asked, CAUSE_YIELDS_EVENT) /* was asked to end, and did so without a failure */          \
	X(unseen, 0)		     /* the end was seen by another node, or by none */            \
	X(device_error, 0)                                                                         \
	X(communicator_error, 0)                                                                   \
	X(out_of_memory, 0) /* out of device memory */                                             \
	X(evicted, CAUSE_ENDS_PROCESS)                                                             \
	X(preempted, CAUSE_ENDS_PROCESS)                                                           \
	X(maintenance, 0)                                                                          \
	X(deleted, 0)                                                                              \
	X(node, 0) /* condition or taint of the node */

enum disruption_cause {
	CAUSE_none, /* there is no disruption; its name is "" */
#define X(id, attributes) CAUSE_##id,
	DISRUPTION_CAUSES(X)
#undef X
		CAUSE_COUNT
};
extern const char *const disruption_cause_name[CAUSE_COUNT];

/* Returns whether the cause has this attribute, one of CAUSE_YIELDS_EVENT... */
bool disruption_cause_is(enum disruption_cause c, unsigned attribute);
/* Returns the cause with this name, or CAUSE_COUNT if the name is unknown. */
enum disruption_cause disruption_cause_find(const char *name);
enum disruption_cause disruption_cause_of_fault(enum fault_kind kind);
/* Returns the cause for a pod or node event. what: enum gp_notice_kind; if it is 0 or unknown,
 * returns CAUSE_none. */
enum disruption_cause disruption_cause_of_notice(unsigned what);

#endif
