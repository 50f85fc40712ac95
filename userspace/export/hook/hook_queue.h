/* SPDX-License-Identifier: Apache-2.0 */
/* hook_queue.h - queue of messages for a hook, with a limit of their rate. For each key (an event
 * of a job) the first message is sent at once, later ones at most once a minute: only the newest
 * message waits, with the number of messages that it replaced, so the last message is always sent.
 * Pure: the caller passes the time. Not thread-safe. */
#ifndef EXPORT_HOOK_QUEUE_H
#define EXPORT_HOOK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"

/* least time between two messages of a key, so that a pager does not ring more often */
#define HOOK_PAUSE_NS	  60000000000ull
#define HOOK_QUEUE	  64 /* keys at a time */
#define HOOK_WHY_NAME_MAX 32

struct hook_item {
	int event;  /* enum hook_event */
	char *line; /* message; owned by the queue or the taker; NULL: no message waits */
	size_t len; /* bytes of line */
	char job[GP_JOB_MAX];
	char why[HOOK_WHY_NAME_MAX]; /* reason of a health event: fact_health.why; "": none */
	char at[GP_STACK_MAX];	     /* where it is in Python: fact_health.line; "": unknown */
	uint64_t suppressed;	     /* messages of this key replaced since the last one was sent */
};

struct hook_slot {
	uint64_t key;	 /* 0: unused */
	uint64_t number; /* serial number of the waiting message, for the order of arrival */
	uint64_t due_ns; /* earliest time to send the waiting or the next message */
	struct hook_item item;
};

struct hook_queue { /* zeroed: empty */
	struct hook_slot slot[HOOK_QUEUE];
	uint64_t puts;
	uint32_t waiting;
	/* superseded: messages replaced by newer ones; full: dropped because no slot was free */
	uint64_t superseded, full;
};

/* Copies the message, which the caller keeps. over: the event has ended, which has a key of its
 * own. Returns 0, -ENOMEM, or -ENOSPC (counted in full). */
int hook_queue_put(struct hook_queue *q, uint64_t now_ns, const struct hook_item *item, bool over);
/* Returns the time at which the next message may be sent; UINT64_MAX: no message waits. */
uint64_t hook_queue_due(const struct hook_queue *q);
/* Takes the oldest message that may be sent now (all: the oldest message). Returns false when there
 * is none. The caller frees ret->line. */
bool hook_queue_take(struct hook_queue *q, uint64_t now_ns, bool all, struct hook_item *ret);
void hook_queue_free(struct hook_queue *q);

#endif
