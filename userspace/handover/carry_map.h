/* SPDX-License-Identifier: Apache-2.0 */
/* carry_map.h - the handoff of a job (model/job/carry.h) as a ConfigMap, one for each job: the same
 * text with the same rules as in a folder (carry_file.h). A ConfigMap that gp-bpf did not make is
 * left alone, and nothing is ever deleted. A thread of its own does the network calls, one request
 * at a time; the caller polls for the answer. A request takes 8 s at most. Other users may be able
 * to write ConfigMaps in the namespace, so answers are hostile. Not thread-safe.
 * Needed permissions in that namespace: configmaps get, create, patch. */
#ifndef HANDOVER_CARRY_MAP_H
#define HANDOVER_CARRY_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/backoff.h"
#include "userspace/handover/carry_file.h"
#include "userspace/model/job/carry.h"

#define CARRY_MAP_S 8 /* limit of the time for a request, in seconds */

struct carry_map;

struct carry_map_config {
	/* See struct pods_config in kubernetes/pods.h. */
	const char *server, *token_file, *ca_file;
	/* namespace of the ConfigMaps; NULL: POD_NAMESPACE of the environment, else that of the
	 * service account, else that of each job */
	const char *namespace;
	double question_s, token_s; /* seconds; 0: CARRY_MAP_S, and a minute */
};

struct carry_map_job {
	char job[GP_JOB_MAX], uid[JOB_UID_MAX];
	char namespace[64],
		/* name and kind of the owner of the job's pods; "": unknown, or not an object of
		 * Kubernetes */
		owner[24];
};

/* Checks a namespace given by the user. Returns 0, or -EINVAL after one line. */
int carry_map_check(const char *space);
/* Returns 0; *ret is NULL if Kubernetes was not found. -EINVAL or -ENOMEM after one line. */
int carry_map_new(struct carry_map **ret, const struct carry_map_config *cfg);
/* Returns within a tenth of a second, even during a request. m may be NULL. */
void carry_map_free(struct carry_map *m);
/* Returns the namespace of the ConfigMaps; "": that of each job. */
const char *carry_map_namespace(const struct carry_map *m);

/* Starts a request. Returns 0; -EBUSY: an abandoned request still runs; -ENXIO: the namespace is
 * unknown. */
int carry_map_read(struct carry_map *m, const struct carry_map_job *job);
int carry_map_write(struct carry_map *m, const struct carry_map_job *job, const struct carry *c);
/* Waits up to wait_ms for the answer. Returns -EAGAIN: no answer yet. After a read: the length of
 * the text at *ret, at most CARRY_MAX, or -ENOENT: there is none, -EBADMSG: the text is too long.
 * After a write: 0, or as carry_replaces(), with a struct carry at *ret for -ESTALE, or -ENOTDIR:
 * the namespace does not exist, -EINVAL: the content is refused. After both: -ENOTUNIQ: gp-bpf did
 * not make it; -EFBIG: the reply is too long; -EACCES: no token, -EPERM: no permission,
 * -EHOSTUNREACH: no reply, -EBUSY: the server is overloaded, or others write all the time, -EIO:
 * refused otherwise, or not a ConfigMap, -ENOMEM; then carry_map_why() has the reason. *ret belongs
 * to the module and is valid until the next request. */
ssize_t carry_map_answer(struct carry_map *m, int wait_ms, const void **ret);
/* Abandons the request: its answer is ignored. */
void carry_map_drop(struct carry_map *m);
/* Returns the error of the last answer: one printable line. */
const char *carry_map_why(const struct carry_map *m);
/* Counts a failure in b. Returns how long to wait before the next request: a growing time, at most
 * a minute, or longer if the server asked for it. */
uint64_t carry_map_pause_ns(const struct carry_map *m, struct backoff *b);

#endif
