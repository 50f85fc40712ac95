/* SPDX-License-Identifier: Apache-2.0 */
/* maps_scan.h - finds which of many processes map a library of a known runtime for execution. */
#ifndef WATCH_MAPS_SCAN_H
#define WATCH_MAPS_SCAN_H

#include <stddef.h>
#include <sys/types.h>

#define MAPS_BATCH 64

enum maps_answer {
	MAPS_OTHER, /* maps no known library, has ended, or cannot be read */
	MAPS_OURS,
	MAPS_LOCKED, /* its maps cannot be read now, because its mmap lock is held */
};

struct helper;
struct probe_names;

/* Scans at most MAPS_BATCH processes in the helper process a, because reading may block. names and
 * root must be the same as when a was made.
 *
 * Returns how many of pids, counted from the first, have an answer in ret; scan the rest later,
 * because these scans took long. Returns 0 if the helper process is not usable any more. */
size_t maps_scan(struct helper *a, const struct probe_names *names, const char *root,
		 const pid_t *pids, size_t n, enum maps_answer *ret);
/* Scans one process without a helper process. */
enum maps_answer maps_read(const struct probe_names *names, const char *root, pid_t pid);

#endif
