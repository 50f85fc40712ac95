/* SPDX-License-Identifier: Apache-2.0 */
/* watch_process_due.c - when a process is looked at. */
#include <errno.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/watch/watch_process_private.h"

/* A process that maps all the time and nothing new is looked at ever more rarely ... */
#define LOOKS_FREE   32
#define DOUBLING_MAX 6
#define CALM_NS	     1000000000ull
/* ... and none takes more than a fiftieth of our time. */
#define COST_SHARE 50
/* One that holds its address space locked is tried again, ever more rarely, this often; then only
 * when it says that it maps something. */
#define LOCKED_NS    1000000000ull
#define LOCKED_TRIES 8

void entry_rest(struct entry *e)
{
	if (!e->due_ns)
		return;
	e->due_ns = 0;
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

void entry_due(struct processes *ps, struct entry *e, uint64_t due_ns)
{
	entry_rest(e);
	e->due_ns = due_ns;
	e->prev = ps->due.prev;
	e->next = &ps->due;
	e->prev->next = e;
	ps->due.prev = e;
}

/* The look that was tried has to be made later. */
void entry_locked(struct processes *ps, struct entry *e, int err)
{
	uint64_t now_ns = clock_mono_ns();

	if (err == -ETIMEDOUT && !e->locked_told) {
		log_warn("process %d cannot be looked at: its address space is locked", e->pid);
		e->locked_told = true;
	}
	e->looked_ns = now_ns;
	if (e->locked++ < LOCKED_TRIES)
		entry_due(ps, e,
			  now_ns + (LOCKED_NS
				    << (e->locked < DOUBLING_MAX ? e->locked - 1 : DOUBLING_MAX)));
	else
		entry_rest(e);
}

static uint64_t look_delay_ns(struct entry *e, uint64_t now_ns)
{
	uint64_t delay_ns = ENTRY_DEBOUNCE_NS, rest_ns = e->looked_ns + COST_SHARE * e->cost_ns;
	unsigned int over;

	if (now_ns - e->looked_ns > CALM_NS)
		e->fruitless = 0;
	over = e->fruitless > LOOKS_FREE ? e->fruitless - LOOKS_FREE : 0;
	delay_ns <<= over < DOUBLING_MAX ? over : DOUBLING_MAX;
	return now_ns + delay_ns < rest_ns ? rest_ns - now_ns : delay_ns;
}

void entry_schedule(struct processes *ps, struct entry *e, bool again)
{
	uint64_t now_ns = clock_mono_ns(), due_ns = now_ns + look_delay_ns(e, now_ns);

	if (e->locked) {
		if (!e->due_ns)
			entry_due(ps, e, now_ns + (LOCKED_NS << DOUBLING_MAX));
		return;
	}
	if (!e->due_ns || due_ns < e->due_ns)
		entry_due(ps, e, due_ns);
	e->again |= again;
}
