/* SPDX-License-Identifier: Apache-2.0 */
/* successor.h - finds out whether another pod of gp-bpf will follow this one on the node. A pod
 * gets the same signal if it is replaced in an update and if it is removed, so its DaemonSet and
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
	unsigned limit_s; /* time limit in seconds for all requests together; 0: 3 s */
};

struct successor;
/* *ret is NULL if this machine is not in a Kubernetes cluster. Returns 0, or -errno after logging
 * one line. */
int successor_new(struct successor **ret, const struct successor_config *cfg);
/* Returns true if another pod will follow. Takes up to limit_s. Returns false if no pod will follow
 * or if this is unknown; why then has the reason, printable. */
bool successor_comes(struct successor *s, char *why, size_t cap);
/* Called once in the loop, with the answer. why: as for successor_comes(). */
typedef void successor_fn(void *ctx, bool comes, const char *why);
/* Like successor_comes(), but does not wait: a thread asks, and fn is called with the answer. Call
 * it once. Returns 0, or -errno if fn will not be called. */
int successor_ask(struct successor *s, struct loop *loop, successor_fn *fn, void *ctx);
/* Makes a running successor_comes() return false within 0.1 s. May be called from any thread. */
void successor_cancel(struct successor *s);
/* Frees s, which may be NULL. fn of a pending successor_ask() is not called. */
void successor_free(struct successor *s);

#endif
