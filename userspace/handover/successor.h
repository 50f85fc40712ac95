/* SPDX-License-Identifier: Apache-2.0 */
/* successor.h - finds out whether another pod will follow this one, from its DaemonSet and
 * namespace: a pod that is replaced by an update gets the same signal as one that is removed.
 *
 * Needed permissions: its own pod (pods list), its DaemonSet (get), its namespace (get). */
#ifndef HANDOVER_SUCCESSOR_H
#define HANDOVER_SUCCESSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/loop.h"

struct successor_config {
	/* See struct pods_config in kubernetes/pods.h. */
	const char *server, *token_file, *ca_file;
	const char *pod, *namespace; /* NULL: POD_NAME and POD_NAMESPACE of the environment */
	unsigned limit_s;	     /* limit of a question in seconds; 0: 3 s */
};

struct successor;
/* *ret is NULL if there is no Kubernetes here. Returns 0, or -errno after one line. */
int successor_new(struct successor **ret, const struct successor_config *cfg);
/* Waits up to limit_s. Returns false if no pod will follow, or if that is unknown; then why holds
 * the reason, printable. */
bool successor_comes(struct successor *s, char *why, size_t cap);
/* Receives the answer once, in the loop. why: as in successor_comes(). */
typedef void successor_fn(void *ctx, bool comes, const char *why);
/* Like successor_comes(), but in a thread; fn receives the answer. Call it once. Returns 0, or
 * -errno: fn is not called. */
int successor_ask(struct successor *s, struct loop *loop, successor_fn *fn, void *ctx);
/* Makes successor_comes() return false within 0.1 s. May be called from any thread. */
void successor_cancel(struct successor *s);
/* Also ends a pending successor_ask(), without calling its fn. NULL is fine. */
void successor_free(struct successor *s);

#endif
