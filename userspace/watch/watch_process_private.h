/* SPDX-License-Identifier: Apache-2.0 */
/* watch_process_private.h - what watch_process.c (who is watched) and watch_process_due.c (when
 * they are looked at) share. */
#ifndef GP_WATCH_PROCESS_PRIVATE_H
#define GP_WATCH_PROCESS_PRIVATE_H

#include "userspace/watch/watch_process.h"

/* The mmap tracepoint fires before the mapping exists, and a library comes in several mappings. */
#define ENTRY_DEBOUNCE_NS 5000000ull

struct aside;
struct entry {
	pid_t pid;
	uint64_t due_ns; /* 0: nothing to look at */
	bool again;	 /* look once more after the next look */
	uint64_t looked_ns, cost_ns;
	unsigned int fruitless; /* looks in a row */
	unsigned int locked;	/* looks in a row that found its address space locked */
	bool locked_told;
	bool unread;		   /* its command line and environment */
	struct gp_process self;	   /* as it was told last; start_ns 0: never */
	struct entry *prev, *next; /* of those that are due */
};

struct processes {
	struct loader *loader;
	struct aside *aside;
	struct table *table; /* pid -> struct entry: alive, watched */
	const char *root, *job;
	process_fn *fn;
	void *ctx;
	struct entry due;      /* ring, in order of their turn */
	uint64_t since_ns;     /* processes_since() */
	struct places *places; /* NULL: nobody asks */
};

void entry_rest(struct entry *e); /* it is not due */
void entry_due(struct processes *ps, struct entry *e, uint64_t due_ns);
/* The look that was tried has to be made later. */
void entry_locked(struct processes *ps, struct entry *e, int err);
/* It may map something new. again: it is looked at a second time after that. */
void entry_schedule(struct processes *ps, struct entry *e, bool again);

#endif
