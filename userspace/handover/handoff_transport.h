/* SPDX-License-Identifier: Apache-2.0 */
/* handoff_transport.h - stores histories of jobs for other nodes: in a shared folder
 * (carry_file.h), or in a ConfigMap for each job (carry_map.h). One request at a time;
 * only transport_answer() waits, for up to wait_ms. Single-threaded. */
#ifndef HANDOVER_HANDOFF_TRANSPORT_H
#define HANDOVER_HANDOFF_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/backoff.h"
#include "userspace/option/option.h"
#include "userspace/handover/carry_map.h"

#define TRANSPORT_NAME_MAX 512

struct transport;

/* Checks --carry before anything is opened. Returns 0, or -EINVAL after one line. */
int transport_check(const struct options *o);
/* *ret is NULL if --carry is not given or (after one line) cannot be used here. Returns 0; -EINVAL,
 * -ENOMEM after one line. */
int transport_new(struct transport **ret, const struct options *o);
void transport_free(struct transport *w); /* gives up a pending request; NULL is fine */
/* Requests the stored history of a job. Returns 0, or -errno: nothing was requested. */
int transport_read(struct transport *w, const struct carry_map_job *job);
/* Requests to store the history of a job. Returns 0, or -errno: nothing was requested. */
int transport_write(struct transport *w, const struct carry_map_job *job, const struct carry *c);
/* Waits for the answer, like carry_map_answer(). */
ssize_t transport_answer(struct transport *w, int wait_ms, const void **ret);
/* Gives up the pending request, which took too long. */
void transport_drop(struct transport *w);
/* Takes one of the reads that are allowed by now_ns (CLOCK_MONOTONIC). Returns false when there is
 * none: too many were made recently. */
bool transport_may_read(struct transport *w, uint64_t now_ns);
/* Returns true if the error concerns only this job, so that requests for other jobs may succeed. */
bool transport_is_of_job(int err);
/* Describes an error in words: an error of one job, or of all. */
const char *transport_why(const struct transport *w, int err);
/* Writes the name of the job's file or ConfigMap, for messages. */
void transport_name(const struct transport *w, const struct carry_map_job *job,
		    char out[TRANSPORT_NAME_MAX]);
/* Counts a failure in b. Returns how long to wait before the next request. */
uint64_t transport_pause_ns(const struct transport *w, struct backoff *b);

#endif
