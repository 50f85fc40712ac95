/* SPDX-License-Identifier: Apache-2.0 */
/* carry_map.h - what goes with a job from node to node (model/job/carry.h), as one ConfigMap a job
 * (kubernetes/config_map.h): the same text by the same rules as in a folder (store/carry_file.h).
 *
 * The network is a thread's of its own, one question at a time; whoever asks looks for the answer
 * when it pleases. A question takes 8 s at most. Anybody who may write ConfigMaps in that namespace
 * may have made what comes. Not thread-safe. */
#ifndef STORE_CARRY_MAP_H
#define STORE_CARRY_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/model/job/carry.h"

#define CARRY_MAP_NAME_MAX 80
#define CARRY_MAP_S	   8 /* of a question */

struct carry_map;

struct carry_map_config {
	/* As in kubernetes/pods.h. */
	const char *server, *token_file, *ca_file;
	/* Where they are; NULL: POD_NAMESPACE of the environment, else the service account's, else
	 * each job's. */
	const char *namespace;
	double question_s, token_s; /* 0: CARRY_MAP_S; a minute */
};

struct carry_map_job {
	char job[GP_JOB_MAX], uid[JOB_UID_MAX];
	char namespace[64],
		owner[24]; /* of its pod; its kind; "": unknown, or it is none of Kubernetes's */
};

/* Fit for Kubernetes (RFC 1123), whatever the job is called, and another one for each job and
 * uid. */
void carry_map_name(char out[CARRY_MAP_NAME_MAX], const char *job, const char *uid);
/* A namespace that the user names: 0, or -EINVAL after one line. */
int carry_map_check(const char *space);
/* *ret NULL, 0: no Kubernetes is to be found here. -EINVAL, -ENOMEM after one line. */
int carry_map_new(struct carry_map **ret, const struct carry_map_config *cfg);
/* Within a tenth of a second, whatever was asked. NULL is fine. */
void carry_map_free(struct carry_map *m);
/* "": it depends on the job. */
const char *carry_map_namespace(const struct carry_map *m);

/* 0: asked; -EBUSY: what was given up goes on still; -ENXIO: nobody knows its namespace. */
int carry_map_read(struct carry_map *m, const struct carry_map_job *job);
int carry_map_write(struct carry_map *m, const struct carry_map_job *job, const struct carry *c);
/* Waits so long at most. -EAGAIN: not yet. Read: bytes of the text at *ret, at most CARRY_MAX, or
 * as config_map_get(), a text that is too long -EBADMSG. Written: 0; as carry_replaces(), with a
 * struct carry at *ret where that is -ESTALE; else as config_map.h. The module owns *ret; it is
 * valid until the next request. */
ssize_t carry_map_answer(struct carry_map *m, int wait_ms, const void **ret);
/* Nobody waits for the answer any more. */
void carry_map_drop(struct carry_map *m);
/* What failed, of the last answer: one line, printable. */
const char *carry_map_why(const struct carry_map *m);
/* After so many failures in a row (1...) the next question may come then: ever more rarely, a
 * minute at most, or as the server asked for. */
uint64_t carry_map_pause_ns(const struct carry_map *m, unsigned failures);

#endif
