/* SPDX-License-Identifier: Apache-2.0 */
/* successor.h - finds out whether another gp-bpf pod will follow this one on the node. A pod that
 * is replaced in an update gets the same signal as one that is removed, so its DaemonSet and
 * namespace are checked.
 *
 * Permissions needed: list its own pod, get its DaemonSet, get its namespace. */
#ifndef HANDOVER_SUCCESSOR_H
#define HANDOVER_SUCCESSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/loop.h"

struct successor_config {
	/* see struct pods_config in kubernetes/pods.h */
	const char *server, *token_file, *ca_file;
	/* names of this pod and its namespace; NULL: POD_NAME and POD_NAMESPACE from the
	 * environment */
	const char *pod, *namespace;
	unsigned limit_s; /* limit of the time for all requests together, in seconds; 0: 3 s */
};

struct successor;
/* If this machine is not in a Kubernetes cluster, *ret is NULL. Returns 0, or -errno after logging
 * the reason. */
int successor_new(struct successor **ret, const struct successor_config *cfg);
/* Returns true if another pod will follow. Returns false if no pod will follow, or if this is
 * unknown; then writes the reason to why (printable). Takes up to limit_s. */
bool successor_comes(struct successor *s, char *why, size_t cap);
/* Receives the answer of successor_ask(); called once, from the loop. why: as for
 * successor_comes(). */
typedef void successor_fn(void *ctx, bool comes, const char *why);
/* Like successor_comes(), but does not wait: a thread sends the requests, and then fn is called
 * with the answer. Call it only once. Returns 0, or -errno if fn will not be called. */
int successor_ask(struct successor *s, struct loop *loop, successor_fn *fn, void *ctx);
/* Makes a running successor_comes() return false within 0.1 s. May be called from any thread. */
void successor_cancel(struct successor *s);
/* Frees s, which may be NULL. fn of a pending successor_ask() is not called. */
void successor_free(struct successor *s);

#endif
