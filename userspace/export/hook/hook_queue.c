/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/hook/hook_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/hash.h"

static uint64_t queue_key_of(int event, const char *job, bool over)
{
	uint64_t key = hash_bytes(hash_word(HASH_START, (uint64_t)event * 2 + over), job,
				  strlen(job));

	return key ? key : 1;
}

/* Returns the slot of the key, else a free one; NULL: no slot is free. */
static struct hook_slot *queue_slot_of(struct hook_queue *q, uint64_t key, uint64_t now_ns)
{
	struct hook_slot *unused = NULL;

	for (size_t i = 0; i < HOOK_QUEUE; i++) {
		struct hook_slot *s = &q->slot[i];

		if (s->key == key)
			return s;
		if (!unused && (!s->key || (!s->item.line && s->due_ns <= now_ns)))
			unused = s;
	}
	if (unused)
		*unused = (struct hook_slot){.key = key, .due_ns = now_ns};
	return unused;
}

int hook_queue_put(struct hook_queue *q, uint64_t now_ns, const struct hook_item *item, bool over)
{
	struct hook_slot *s = queue_slot_of(q, queue_key_of(item->event, item->job, over), now_ns);
	uint64_t suppressed = 0;
	char *copy;

	if (!s) {
		q->full++;
		return -ENOSPC;
	}
	copy = malloc(item->len + 1);
	if (!copy) {
		q->full++;
		return -ENOMEM;
	}
	memcpy(copy, item->line, item->len);
	copy[item->len] = '\0';
	if (s->item.line) {
		suppressed = s->item.suppressed + 1;
		q->superseded++;
		free(s->item.line);
	} else {
		q->waiting++;
	}
	s->item = *item;
	s->item.line = copy;
	s->item.suppressed = suppressed;
	s->number = ++q->puts;
	return 0;
}

uint64_t hook_queue_due(const struct hook_queue *q)
{
	uint64_t due_ns = UINT64_MAX;

	for (size_t i = 0; i < HOOK_QUEUE; i++)
		if (q->slot[i].item.line && q->slot[i].due_ns < due_ns)
			due_ns = q->slot[i].due_ns;
	return due_ns;
}

bool hook_queue_take(struct hook_queue *q, uint64_t now_ns, bool all, struct hook_item *ret)
{
	struct hook_slot *first = NULL;

	for (size_t i = 0; i < HOOK_QUEUE; i++) {
		struct hook_slot *s = &q->slot[i];

		if (s->item.line && (all || s->due_ns <= now_ns) &&
		    (!first || s->number < first->number))
			first = s;
	}
	if (!first)
		return false;
	*ret = first->item;
	first->item.line = NULL;
	first->due_ns = now_ns + HOOK_PAUSE_NS;
	q->waiting--;
	return true;
}

void hook_queue_free(struct hook_queue *q)
{
	for (size_t i = 0; i < HOOK_QUEUE; i++)
		free(q->slot[i].item.line);
	*q = (struct hook_queue){0};
}
