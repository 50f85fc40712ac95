/* SPDX-License-Identifier: Apache-2.0 */
/* maps_scan.h - finds which of many processes map a library of a known runtime for execution. */
#ifndef WATCH_MAPS_SCAN_H
#define WATCH_MAPS_SCAN_H

#include <stddef.h>
#include <sys/types.h>

#define MAPS_BATCH 64

enum maps_answer {
	MAPS_OTHER, /* no known library, or the process is gone or unreadable */
	MAPS_OURS,
	MAPS_LOCKED, /* the process's maps cannot be read now, because a lock is held */
};

struct helper;
struct probe_names;

/* Scans at most MAPS_BATCH processes in a's helper process, because a lock may block it. names and
 * root must be the same as when a was made. Returns how many, from the first, have an answer; the
 * rest should be tried later, because the first ones took long. 0: the helper process cannot be
 * used any more. */
size_t maps_scan(struct helper *a, const struct probe_names *names, const char *root,
		 const pid_t *pids, size_t n, enum maps_answer *ret);
/* Scans one process in this process. */
enum maps_answer maps_read(const struct probe_names *names, const char *root, pid_t pid);

#endif
