/* SPDX-License-Identifier: Apache-2.0 */
/* rank_worker.c - worker processes of a data loader. Usually they are started again for each epoch,
 * which takes seconds if they import the program again (spawn). The time from their start to the
 * first batch is booked as data loading, and is not part of a step. */
#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/base/number.h"
#include "userspace/model/rank/rank_private.h"

/* A data loader requests its first batch at most this long (ns) after it has started its
 * workers. */
#define WORKERS_SOON_NS 1000000000ull

static uint32_t workers_kept(const struct rank_workers *w)
{
	return !w->kept ? 0 : w->count < RANK_WORKERS ? w->count : RANK_WORKERS;
}

void rank_worker_born(struct rank *r, uint32_t pid, uint64_t now_ns)
{
	struct rank_workers *w = &r->workers;

	w->last_ns = now_ns;
	if (!w->kept && !w->count) {
		w->kept = calloc(RANK_WORKERS, sizeof(*w->kept));
		r->error = w->kept ? r->error : -ENOMEM;
	}
	if (w->kept && w->count < RANK_WORKERS)
		w->kept[w->count] = (struct rank_worker){.born_ns = now_ns, .pid = pid};
	w->count++;
}

/* Removes a child. If it has no entry in `kept`, it cannot be found and stays counted. */
void rank_worker_gone(struct rank *r, uint32_t pid)
{
	struct rank_workers *w = &r->workers;
	uint32_t kept = workers_kept(w);

	for (uint32_t i = 0; i < kept; i++) {
		if (w->kept[i].pid != pid)
			continue;
		w->kept[i] = w->kept[kept - 1];
		/* the free entry now represents a child that had no entry */
		if (w->count > kept)
			w->kept[kept - 1] = (struct rank_worker){.born_ns = w->last_ns};
		w->count--;
		return;
	}
}

/* Handles a batch that was loaded; s->begin_ns: when it was requested. If workers were started
 * shortly before, books the time from their start to the request. */
void rank_worker_fetched(struct rank *r, const struct signal *s)
{
	struct rank_workers *w = &r->workers;
	uint32_t count = w->count, kept = workers_kept(w);
	uint64_t first_ns = w->last_ns;
	char took[16];
	int err;

	w->count = 0;
	if (!count || w->last_ns > s->begin_ns || s->begin_ns - w->last_ns > WORKERS_SOON_NS)
		return;
	for (uint32_t i = 0; i < kept; i++)
		first_ns = smaller_of(w->kept[i].born_ns, first_ns);
	err = ledger_interval(r->member.ledger, BUCKET_DATA_LOADING, first_ns, s->begin_ns);
	r->error = err ? err : r->error;
	phase_break(r->phase, s->tid, first_ns, s->ts_ns);
	rank_event(r, s->ts_ns, "loader: %u worker%s started, first batch after %s", count,
		   plural(count), clock_duration(took, sizeof(took), s->ts_ns - first_ns));
}

void rank_worker_archive(struct archive *a, struct rank_workers *w)
{
	archive_fields(a, w, last_ns, count);
	w->kept = archive_object(a, w->kept, RANK_WORKERS * sizeof(*w->kept));
	for (uint32_t i = 0; w->kept && i < RANK_WORKERS; i++)
		archive_fields(a, &w->kept[i], born_ns, pid);
}
