/* SPDX-License-Identifier: Apache-2.0 */
/* hook_queue.h - what a hook is still to tell. For each key (an event of a job) one message is sent
 * at once, then at most one a minute: the newest one that comes meanwhile waits, and says how many
 * others there were. So the last word is always told. Pure: time is given. Not thread-safe. */
#ifndef EXPORT_HOOK_QUEUE_H
#define EXPORT_HOOK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

#define HOOK_PAUSE_NS 60000000000ull /* between two of a key: a pager rings that often at most */
#define HOOK_QUEUE    64	     /* keys at a time */

struct hook_item {
	int event;  /* of whoever puts it */
	char *line; /* owned; NULL: nothing waits */
	size_t len; /* of it */
	char job[GP_JOB_MAX];
	uint64_t suppressed; /* others of its key since the last that went out */
};

struct hook_slot {
	uint64_t key;	 /* 0: free */
	uint64_t number; /* in order of coming, of what waits */
	uint64_t due_ns; /* when what waits, or comes next, may go out */
	struct hook_item item;
};

struct hook_queue { /* zero is empty */
	struct hook_slot slot[HOOK_QUEUE];
	uint64_t puts;
	uint32_t waiting;
	uint64_t superseded, full; /* ever: a newer one took its place; there was no room for it */
};

/* Copies. -ENOMEM; -ENOSPC: counted as full. */
int hook_queue_put(struct hook_queue *q, uint64_t now_ns, int event, const char *job, bool over,
		   const char *line, size_t len);
/* When something is to go out; UINT64_MAX: nothing waits. */
uint64_t hook_queue_due(const struct hook_queue *q);
/* The first that is due, or with all the first that waits. ret's line is the caller's. */
bool hook_queue_take(struct hook_queue *q, uint64_t now_ns, bool all, struct hook_item *ret);
void hook_queue_free(struct hook_queue *q);

#endif
