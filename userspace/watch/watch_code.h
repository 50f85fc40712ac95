/* SPDX-License-Identifier: Apache-2.0 */
/* watch_code.h - names of programs that watched processes compile for a device: read from their
 * code, in the process's memory, while the compiler is at it. That memory may never answer, so
 * another process of ours reads it, for 2 s at most, of each program 64 MiB at most and of all 256
 * MiB a second. */
#ifndef WATCH_WATCH_CODE_H
#define WATCH_WATCH_CODE_H

#include <stddef.h>
#include <sys/types.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/output/journal.h"

struct codes;

/* All borrowed. */
int codes_new(struct codes **ret, struct loader *l, const struct probe_table *probes,
	      struct journal *j);
void codes_free(struct codes *cs);
/* Records of calls that were read: those that tell of a program are answered with one of its
 * name. */
void codes_records(struct codes *cs, const void *records, size_t len);
/* The process has ended, or runs another program file. */
void codes_gone(struct codes *cs, pid_t pid);
/* Reads on. Waits 2 ms at most. */
void codes_poll(struct codes *cs);

#endif
