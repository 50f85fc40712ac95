/* SPDX-License-Identifier: Apache-2.0 */
/* watch_code.h - names of device programs that watched processes compile: read from their code in
 * the process's memory, while the compiler runs. Reading that memory may block, so a helper process
 * does it, for at most 2 s, and at most 64 MiB of each program and 256 MiB a second of all. */
#ifndef WATCH_WATCH_CODE_H
#define WATCH_WATCH_CODE_H

#include <stddef.h>
#include <sys/types.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/output/journal.h"

struct codes;

/* All arguments are borrowed. */
int codes_new(struct codes **ret, struct loader *l, const struct probe_table *probes,
	      struct journal *j);
void codes_free(struct codes *cs);
/* Handles records of calls: for one about a program, a record with its name follows later. */
void codes_records(struct codes *cs, const void *records, size_t len);
/* Call when the process has ended or has executed another file. */
void codes_gone(struct codes *cs, pid_t pid);
/* Continues reading. Waits 2 ms at most. */
void codes_poll(struct codes *cs);

#endif
