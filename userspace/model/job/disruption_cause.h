/* SPDX-License-Identifier: Apache-2.0 */
/* disruption_cause.h - causes of disruptions: their names and attributes. Pure. */
#ifndef MODEL_DISRUPTION_CAUSE_H
#define MODEL_DISRUPTION_CAUSE_H

#include <stdbool.h>

#include "userspace/model/signal/device_code.h"

/* Attributes of causes. */
#define CAUSE_YIELDS_EVENT 2 /* an event of the pod or node says more, and replaces it */
#define CAUSE_YIELDS_FAULT 4 /* Replaced by an event of the pod or node, which says more. */
/* Replaced by an error of a device shortly before, which says more. */
#define CAUSE_ENDS_PROCESS   8
#define DISRUPTION_CAUSE_MAX 24 /* bytes of the longest name, including the terminator */

/* The id is the name in outputs, the store, handoffs and saved states. Each kind of device error
 * (FAULT_KINDS) and of pod or node event (GP_NOTICES) has a row. */
#define DISRUPTION_CAUSES(X)				    /* id, attributes */                   \
	X(killed, CAUSE_YIELDS_EVENT)			    /* by a signal of another process */   \
	X(crashed, CAUSE_YIELDS_EVENT | CAUSE_YIELDS_FAULT) /* by a signal of its own */           \
	X(exit, CAUSE_YIELDS_EVENT | CAUSE_YIELDS_FAULT)    /* with a status other than 0 */       \
	X(oom, CAUSE_ENDS_PROCESS)			    /* out of host memory */               \
	X(exec, 0)					    /* it runs another program now */      \
	X(asked, CAUSE_YIELDS_EVENT)			    /* ended in order, on request */       \
	X(unseen, 0) /* on another node, or unknown there */                                       \
	X(device_error, 0)                                                                         \
	X(communicator_error, 0)                                                                   \
	X(out_of_memory, 0) /* memory of the device */                                             \
	X(evicted, CAUSE_ENDS_PROCESS)                                                             \
	X(preempted, CAUSE_ENDS_PROCESS)                                                           \
	X(maintenance, 0)                                                                          \
	X(deleted, 0)                                                                              \
	X(node, 0) /* its condition, or a taint */

enum disruption_cause {
	CAUSE_none, /* there is no disruption; its name is "" */
#define X(id, attributes) CAUSE_##id,
	DISRUPTION_CAUSES(X)
#undef X
		CAUSE_COUNT
};
extern const char *const disruption_cause_name[CAUSE_COUNT];

/* Returns whether the cause has this attribute (CAUSE_YIELDS_EVENT...). */
bool disruption_cause_is(enum disruption_cause c, unsigned attribute);
/* Returns the cause of that name; CAUSE_COUNT when the name is unknown. */
enum disruption_cause disruption_cause_find(const char *name);
enum disruption_cause disruption_cause_of_fault(enum fault_kind kind);
/* Returns the cause of a pod or node event. what: enum gp_notice_kind; CAUSE_none when 0 or
 * unknown. */
enum disruption_cause disruption_cause_of_notice(unsigned what);

#endif
