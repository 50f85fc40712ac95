/* SPDX-License-Identifier: Apache-2.0 */
/* maps_scan.h - which of many processes map a library of a known runtime to run its code. */
#ifndef WATCH_MAPS_SCAN_H
#define WATCH_MAPS_SCAN_H

#include <stddef.h>
#include <sys/types.h>

#define MAPS_BATCH 64

enum maps_answer {
	MAPS_OTHER, /* none, or it is gone or closed to us */
	MAPS_OURS,
	MAPS_LOCKED, /* it could not be looked at now */
};

struct aside;
struct probe_names;

/* Asks in a's process, which a lock may hold up in our place. names and root must be as they were
 * when a was made. At most MAPS_BATCH. Returns how many have an answer, from the first on: the rest
 * are for another time, for these took long; none: nothing can be asked any more. */
size_t maps_scan(struct aside *a, const struct probe_names *names, const char *root,
		 const pid_t *pids, size_t n, enum maps_answer *ret);
/* One process, here. */
enum maps_answer maps_read(const struct probe_names *names, const char *root, pid_t pid);

#endif
