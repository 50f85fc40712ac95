/* SPDX-License-Identifier: Apache-2.0 */
/* watch_code.h - finds the names of device programs that watched processes compile, by reading the
 * program's code from the process's memory while the compiler runs. A helper process reads, because
 * reading may block. It reads for at most 2 s, at most 64 MiB of each program, and at most 256 MiB
 * of all programs in a second. */
#ifndef WATCH_WATCH_CODE_H
#define WATCH_WATCH_CODE_H

#include <stddef.h>
#include <sys/types.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/output/journal.h"

struct codes;

/* Prepares to read names of programs. All arguments are borrowed. */
int codes_new(struct codes **ret, struct loader *l, const struct probe_table *probes,
	      struct journal *j);
void codes_free(struct codes *cs);
/* Handles records of calls. If a call is about a program, a record with the program's name follows
 * later. */
void codes_records(struct codes *cs, const void *records, size_t len);
/* Call when the process has ended or has executed another file: forgets its programs. */
void codes_gone(struct codes *cs, pid_t pid);
/* Continues reading programs. Waits at most 2 ms. */
void codes_poll(struct codes *cs);

#endif
