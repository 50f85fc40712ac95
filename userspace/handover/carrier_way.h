/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_way.h - stores histories of jobs for other nodes: in a shared folder
 * (carry_file.h), or in a ConfigMap for each job (carry_map.h). One request at a time;
 * only way_answer() waits, for up to wait_ms. Single-threaded. */
#ifndef HANDOVER_CARRIER_WAY_H
#define HANDOVER_CARRIER_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/option/option.h"
#include "userspace/handover/carry_map.h"

#define WAY_NAME_MAX 512

struct way;

/* Checks --carry before anything is opened. Returns 0, or -EINVAL after one line. */
int way_check(const struct options *o);
/* *ret is NULL if --carry is not given or, after one line, if it cannot be used here. Returns 0;
 * -EINVAL, -ENOMEM after one line. */
int way_new(struct way **ret, const struct options *o);
void way_free(struct way *w); /* gives up a pending request; NULL is fine */
/* Requests the stored history of that job. Returns 0, or -errno: it cannot be requested. */
int way_read(struct way *w, const struct carry_map_job *job);
/* Requests to store that history. Returns 0 or -errno. */
int way_write(struct way *w, const struct carry_map_job *job, const struct carry *c);
/* As carry_map_answer(). */
ssize_t way_answer(struct way *w, int wait_ms, const void **ret);
/* Gives up the pending request, which took too long. */
void way_drop(struct way *w);
/* Takes one of the reads that are allowed by now_ns (CLOCK_MONOTONIC). Returns false when there is
 * none: too many were made recently. */
bool way_may_read(struct way *w, uint64_t now_ns);
/* Whether the error concerns this job only, so that other jobs may succeed. */
bool way_is_of_job(int err);
/* Describes an error in words: an error of one job, or of all. */
const char *way_why(const struct way *w, int err);
/* The file or ConfigMap of that job, for messages. */
void way_name(const struct way *w, const struct carry_map_job *job, char out[WAY_NAME_MAX]);
/* How long to wait after so many consecutive failures (1...). */
uint64_t way_pause_ns(const struct way *w, unsigned failures);

#endif
