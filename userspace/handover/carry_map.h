/* SPDX-License-Identifier: Apache-2.0 */
/* carry_map.h - stores the history of a job (model/job/carry.h) for other nodes: one ConfigMap for
 * each job, with the text and the rules of carry_file.h. A ConfigMap that gp-bpf did not make is
 * not changed, and nothing is ever deleted.
 *
 * A thread does the network calls, one request at a time, and the caller polls for the answer. A
 * request takes at most 8 s. Other users may have write access to ConfigMaps in the namespace, so
 * answers are untrusted. Not thread-safe. Permissions needed in the namespace: get, create and
 * patch configmaps. */
#ifndef HANDOVER_CARRY_MAP_H
#define HANDOVER_CARRY_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/backoff.h"
#include "userspace/handover/carry_file.h"
#include "userspace/model/job/carry.h"

#define CARRY_MAP_S 8 /* limit of the time of a request, in seconds */

struct carry_map;

struct carry_map_config {
	/* see struct pods_config in kubernetes/pods.h */
	const char *server, *token_file, *ca_file;
	/* Namespace of the ConfigMaps. NULL: POD_NAMESPACE from the environment; otherwise the
	 * namespace of the service account; otherwise that of each job's pods. */
	const char *namespace;
	/* Limit of the time of a request, and interval for reading the token file again, in
	 * seconds; 0: CARRY_MAP_S and 60. */
	double question_s, token_s;
};

struct carry_map_job {
	char job[GP_JOB_MAX], uid[JOB_UID_MAX];
	char namespace[64],
		/* Kind of the Kubernetes object that owns the pods, and whose name and uid are
		 * those of the job; "": there is none, or it is unknown. */
		owner[24];
};

/* Checks a namespace that the user gave. Returns 0, or -EINVAL after logging the reason. */
int carry_map_check(const char *space);
/* Starts the thread. If this machine is not in a Kubernetes cluster, *ret is NULL. Returns 0;
 * -EINVAL or -EDESTADDRREQ after logging the reason; -ENOMEM. */
int carry_map_new(struct carry_map **ret, const struct carry_map_config *cfg);
/* Ends the thread within 0.1 s, even during a request. m may be NULL. */
void carry_map_free(struct carry_map *m);
/* Returns the namespace of all ConfigMaps; "": each job's ConfigMap is in the namespace of the
 * job's pods. */
const char *carry_map_namespace(const struct carry_map *m);

/* Start a request to read or write the history of a job. Return 0; -EBUSY: an abandoned request is
 * still running; -ENXIO: the namespace of the job is unknown. */
int carry_map_read(struct carry_map *m, const struct carry_map_job *job);
int carry_map_write(struct carry_map *m, const struct carry_map_job *job, const struct carry *c);
/* Waits up to wait_ms for the answer to the request. Returns -EAGAIN if there is none yet. *ret
 * belongs to this module and is valid until the next request.
 *
 * After a read: returns the length of the text at *ret (at most CARRY_MAX); -ENOENT: no history is
 * stored; -EBADMSG: it is too long. After a write: returns 0, or an error of carry_replaces() (for
 * -ESTALE, *ret is a struct carry); -ENOTDIR: the namespace does not exist; -EINVAL: the server
 * rejects the content.
 *
 * After both: -ENOTUNIQ: gp-bpf did not make the ConfigMap; -EFBIG: the reply is too long; -EACCES:
 * there is no token; -EPERM: no permission; -EHOSTUNREACH: no reply; -EBUSY: the server is
 * overloaded, or other processes change the ConfigMap again and again; -EIO: another refusal, or
 * the reply is not a ConfigMap; -ENOMEM. After these errors carry_map_why() has the reason. */
ssize_t carry_map_answer(struct carry_map *m, int wait_ms, const void **ret);
/* Abandons the current request. It may continue, but its answer is ignored. */
void carry_map_drop(struct carry_map *m);
/* Returns the reason of the last error as one printable line. */
const char *carry_map_why(const struct carry_map *m);
/* Counts a failure in b. Returns the time to wait before the next request, in ns: it grows with
 * each failure up to a minute, and is longer if the server asks for it. */
uint64_t carry_map_pause_ns(const struct carry_map *m, struct backoff *b);

#endif
