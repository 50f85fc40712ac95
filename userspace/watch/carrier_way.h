/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_way.h - where what is known of jobs is left for other nodes: a folder that they share
 * (store/carry_file.h), or one ConfigMap a job (store/carry_map.h). One question at a time, and
 * nothing here waits for its answer unless it is told how long. Single-threaded. */
#ifndef WATCH_CARRIER_WAY_H
#define WATCH_CARRIER_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/option/option.h"
#include "userspace/store/carry_map.h"

#define WAY_NAME_MAX 512

struct way;

/* What can be said of --carry before anything is opened: 0, or -EINVAL after one line. */
int way_check(const struct options *o);
/* *ret NULL, 0: none is asked for, or after one line there is none here. -EINVAL, -ENOMEM after one
 * line. */
int way_new(struct way **ret, const struct options *o);
void way_free(struct way *w); /* what was asked is given up; NULL is fine */
/* Requests the stored history of that job. Returns 0, or -errno: it cannot be requested. */
int way_read(struct way *w, const struct carry_map_job *job);
/* That is to be there. */
int way_write(struct way *w, const struct carry_map_job *job, const struct carry *c);
/* As carry_map_answer(). */
ssize_t way_answer(struct way *w, int wait_ms, const void **ret);
/* What was asked has used up its time. */
void way_drop(struct way *w);
/* Takes one of the reads that are allowed by now_ns (CLOCK_MONOTONIC). Returns false when there is
 * none: too many were made recently. */
bool way_may_read(struct way *w, uint64_t now_ns);
/* Whether the error is of that job's alone, and others may fare better. */
bool way_is_of_job(int err);
/* Describes an error in words: an error of one job, or of all. */
const char *way_why(const struct way *w, int err);
/* Where that job's is kept, for people. */
void way_name(const struct way *w, const struct carry_map_job *job, char out[WAY_NAME_MAX]);
/* After so many failures in a row (1...) it may be tried again then. */
uint64_t way_pause_ns(const struct way *w, unsigned failures);

#endif
