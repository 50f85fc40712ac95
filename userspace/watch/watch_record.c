/* SPDX-License-Identifier: Apache-2.0 */
/* watch_record.c - what the loader and the processes say, as records. */
#include "userspace/identity/process.h"
#include "userspace/output/journal.h"
#include "userspace/watch/watch_place.h"
#include "userspace/watch/watch_private.h"
#include "userspace/watch/watch_process.h"

void watch_attached(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct gp_attach *own = journal_record(((struct watch *)ctx)->journal, GP_KIND_attach, 0,
					       probe);

	if (own)
		*own = *a;
}

/* As of the fork or exec that it explains: the process may have ended since, and its end comes
 * last. Of one that was found, as of when its own records may have begun. */
static void stamp(const struct watch *w, void *own)
{
	uint64_t at_ns = w->event_ns ? w->event_ns : processes_since(w->processes);

	if (at_ns)
		((struct gp_rec *)own - 1)->ts_ns = at_ns;
}

void watch_introduced(void *ctx, pid_t pid, const struct gp_process *p)
{
	struct watch *w = ctx;
	struct gp_process *own = journal_record(w->journal, GP_KIND_process, (uint32_t)pid, 0);
	const struct gp_place *place;

	if (!own)
		return;
	*own = *p;
	stamp(w, own);
	place = places_get(w->places, pid);
	place = place ? place : places_get(w->places, (pid_t)p->parent);
	if (place)
		carrier_job(w->carrier, place);
}

void watch_placed(void *ctx, pid_t pid, const struct gp_place *p)
{
	struct watch *w = ctx;
	struct gp_place *own = journal_record(w->journal, GP_KIND_place, (uint32_t)pid, 0);

	if (!own)
		return;
	*own = *p;
	stamp(w, own);
	carrier_job(w->carrier, p);
}

void watch_noticed(void *ctx, const struct gp_notice *n)
{
	struct gp_notice *own = journal_record(((struct watch *)ctx)->journal, GP_KIND_notice, 0,
					       0);

	if (own)
		*own = *n;
}

void watch_gone(void *ctx, pid_t pid)
{
	struct gp_exit *e = journal_record(((struct watch *)ctx)->journal, GP_KIND_exit,
					   (uint32_t)pid, 0);

	if (e)
		e->status = -1;
}

void watch_count(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *counted)
{
	struct watch *w = ctx;
	struct gp_counter *c = journal_record(w->journal, GP_KIND_counter, (uint32_t)pid, probe);

	if (!c)
		return;
	*c = *counted;
	if (w->count_ns)
		((struct gp_rec *)c - 1)->ts_ns = w->count_ns;
}

void watch_lost(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total)
{
	struct watch *w = ctx;
	struct gp_loss *l = journal_record(w->journal, GP_KIND_loss, 0, 0);

	w->life_lost |= cause == GP_LOSS_ring_life;
	if (!l)
		return;
	l->cause = cause;
	l->count = count;
	l->total = total;
}
