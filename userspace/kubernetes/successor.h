/* SPDX-License-Identifier: Apache-2.0 */
/* successor.h - whether another pod comes after this one, as the API server says of its DaemonSet
 * and its namespace: a pod that an update replaces is told to end just as one that is removed.
 *
 * What it asks, and may: its own pod (pods list), its DaemonSet (get), its namespace (get). */
#ifndef KUBERNETES_SUCCESSOR_H
#define KUBERNETES_SUCCESSOR_H

#include <stdbool.h>
#include <stddef.h>

struct successor_config {
	/* As in pods.h. */
	const char *server, *token_file, *ca_file;
	const char *pod, *namespace; /* NULL: POD_NAME and POD_NAMESPACE of the environment */
	unsigned limit_s;	     /* 0: 3 */
};

struct successor;
/* *ret NULL, 0: no Kubernetes is to be found here. -errno after one line. */
int successor_new(struct successor **ret, const struct successor_config *cfg);
/* Waits no longer than that. false: none comes, or nobody says that one does; why, in a few
 * printable words. */
bool successor_comes(struct successor *s, char *why, size_t cap);
/* From any thread: it ends within a tenth of a second, and none comes. */
void successor_cancel(struct successor *s);
void successor_free(struct successor *s); /* NULL is fine */

#endif
