/* SPDX-License-Identifier: Apache-2.0 */
/* successor.h - whether another pod will follow this one, from its DaemonSet and its namespace: a
 * pod that is replaced by an update gets the same signal as one that is removed.
 *
 * Needed permissions: its own pod (pods list), its DaemonSet (get), its namespace (get). */
#ifndef HANDOVER_SUCCESSOR_H
#define HANDOVER_SUCCESSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/loop.h"

struct successor_config {
	/* As in pods.h. */
	const char *server, *token_file, *ca_file;
	const char *pod, *namespace; /* NULL: POD_NAME and POD_NAMESPACE of the environment */
	unsigned limit_s;	     /* 0: 3 */
};

struct successor;
/* *ret is NULL if there is no Kubernetes here. Returns 0, or -errno after one line. */
int successor_new(struct successor **ret, const struct successor_config *cfg);
/* Waits up to limit_s. Returns false if no pod will follow, or if that is unknown; then why holds
 * the reason, printable. */
bool successor_comes(struct successor *s, char *why, size_t cap);
/* Receives the answer once, in the loop. why: the reason, as above. */
typedef void successor_fn(void *ctx, bool comes, const char *why);
/* As successor_comes(), once, in a thread of its own. Returns 0, or -errno: fn is not called. */
int successor_ask(struct successor *s, struct loop *loop, successor_fn *fn, void *ctx);
/* From any thread: makes successor_comes() return false within 0.1 s. */
void successor_cancel(struct successor *s);
/* Ends a question, too, whose fn is not called then. NULL is fine. */
void successor_free(struct successor *s);

#endif
