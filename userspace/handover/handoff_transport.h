/* SPDX-License-Identifier: Apache-2.0 */
/* handoff_transport.h - stores and reads histories of jobs, in a shared folder (carry_file.h) or in
 * a ConfigMap for each job (carry_map.h). It processes one request at a time. Only
 * transport_answer() waits, for up to wait_ms. Single-threaded. */
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

/* Checks the value of --carry before anything is opened. Returns 0, or -EINVAL after logging the
 * reason. */
int transport_check(const struct options *o);
/* Opens the folder or ConfigMaps that --carry names. If --carry is not given, or cannot be used
 * here (which is logged), *ret is NULL. Returns 0, -EINVAL or -ENOMEM. */
int transport_new(struct transport **ret, const struct options *o);
void transport_free(struct transport *w); /* abandons a pending request; w may be NULL */
/* Requests the stored history of a job. Returns 0, or -errno if no request was sent. */
int transport_read(struct transport *w, const struct carry_map_job *job);
/* Requests to store the history of a job. Returns 0, or -errno if no request was sent. */
int transport_write(struct transport *w, const struct carry_map_job *job, const struct carry *c);
/* Waits up to wait_ms for the answer to the request. Returns the same as carry_map_answer();
 * -EAGAIN if there is none yet. */
ssize_t transport_answer(struct transport *w, int wait_ms, const void **ret);
/* Abandons the pending request. Call if it takes too long. */
void transport_drop(struct transport *w);
/* Returns true if another read is allowed at now_ns (CLOCK_MONOTONIC), and counts it; false: there
 * were too many reads recently. */
bool transport_may_read(struct transport *w, uint64_t now_ns);
/* Returns true if the error concerns only this job, so that requests for other jobs can succeed. */
bool transport_is_of_job(int err);
/* Returns the text of an error, for messages. */
const char *transport_why(const struct transport *w, int err);
/* Writes the name of the job's file or ConfigMap, for messages. */
void transport_name(const struct transport *w, const struct carry_map_job *job,
		    char out[TRANSPORT_NAME_MAX]);
/* Counts a failure in b. Returns the time to wait before the next request, in ns. */
uint64_t transport_pause_ns(const struct transport *w, struct backoff *b);

#endif
