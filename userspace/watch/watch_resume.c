/* SPDX-License-Identifier: Apache-2.0 */
/* Going on where a predecessor stopped: what it had read is on its tape, what it had not is in the
 * rings, and the kernel side has watched on in between. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/base/table.h"
#include "userspace/identity/process.h"
#include "userspace/ingest/event.h"
#include "userspace/watch/watch_place.h"
#include "userspace/watch/watch_private.h"

/* Start times of /proc come in ticks of 10 ms. */
#define START_TICK_NS 10000000ull

struct resuming {
	struct watch *watch;
	bool alive;	  /* look for those that still run, not for those that do not */
	uint64_t last_ns; /* stamp of the newest record on the tape */
	struct table
		*known;	  /* pid -> itself: of the model's processes, those that were identified */
	pid_t *unwatched; /* the model's processes that nobody watches */
	size_t count, room;
};

/* What was told last of counters and losses; how far time had come. */
static void on_frame(void *ctx, const struct tape_frame *f)
{
	struct resuming *r = ctx;
	const struct gp_rec *rec;
	struct event ev;

	for (size_t at = 0; (rec = gp_rec_next(f->records, f->len, &at));) {
		if (event_decode(rec, rec->len, &ev))
			continue;
		if (rec->ts_ns > r->last_ns)
			r->last_ns = rec->ts_ns;
		if (rec->kind == GP_KIND_counter)
			loader_resume(r->watch->loader, (pid_t)rec->pid, rec->probe, ev.counter);
		else if (rec->kind == GP_KIND_loss)
			loader_resume_loss(r->watch->loader, ev.loss);
	}
}

/* Whether the tape knows all that was taken out of the rings. */
static bool rings_seek(struct watch *w)
{
	bool whole = true;

	for (int i = 0; i < 2; i++) {
		uint64_t at = durable_ring_at(w->durable, watch_source[i]);

		whole &= at >= ring_at(w->ring[i]);
		if (at > ring_at(w->ring[i]))
			ring_skip(w->ring[i], at);
	}
	return whole;
}

void watch_gap(struct watch *w, uint64_t from_ns)
{
	struct gp_gap *gap = journal_record(w->journal, GP_KIND_gap, 0, 0);
	char away[16];

	if (!gap)
		return;
	*gap = (struct gp_gap){.from_ns = from_ns, .cause = GP_GAP_AWAY};
	log_warn("nobody watched for %s: that time counts as not observed",
		 clock_duration(away, sizeof(away), clock_mono_ns() - from_ns));
}

static void on_known(void *ctx, uint32_t pid, uint64_t start_ns, bool identified)
{
	struct resuming *r = ctx;

	(void)start_ns;
	if (identified)
		table_put(r->known, pid, r);
}

static bool same_process(const struct resuming *r, uint32_t pid, uint64_t start_ns)
{
	const char *root = r->watch->options->root;
	uint64_t now_ns = process_start_ns(root ? root : "", (pid_t)pid);

	return now_ns && start_ns && now_ns / START_TICK_NS == start_ns / START_TICK_NS;
}

/* Asked after the rings were read: who is not watched by now ended while nobody looked. */
static void on_live(void *ctx, uint32_t pid, uint64_t start_ns, bool identified)
{
	struct resuming *r = ctx;
	size_t room = r->room ? r->room * 2 : 64;
	pid_t *list;

	(void)identified;
	if (processes_have(r->watch->processes, (pid_t)pid) ||
	    (r->alive && !same_process(r, pid, start_ns)))
		return;
	if (r->count == r->room) {
		list = reallocarray(r->unwatched, room, sizeof(*list));
		if (!list)
			return;
		r->unwatched = list;
		r->room = room;
	}
	r->unwatched[r->count++] = (pid_t)pid;
}

static void processes_take_over(struct resuming *r)
{
	struct watch *w = r->watch;

	places_resumed(w->places, clock_mono_ns());
	output_processes(w->out, on_known, r);
	for (pid_t pid = 0; (pid = loader_watched_next(w->loader, pid));)
		processes_adopt(w->processes, pid, table_get(r->known, (uint64_t)pid));
	processes_adopted(w->processes);
	loader_taken_over(w->loader);
	w->sweeps = 2;
}

int watch_resume(struct watch *w, bool saved)
{
	struct resuming r = {.watch = w, .known = table_new()};
	bool adopted = loader_adopted(w->loader), whole = true;
	uint64_t silent_ns;
	int err = r.known ? 0 : -ENOMEM;

	if (!err && saved) {
		r.last_ns = durable_state(w->durable)->upto_ns;
		err = journal_replay(w->journal, on_frame, &r);
		whole = adopted && rings_seek(w);
		if (!adopted)
			durable_rings_anew(w->durable);
	}
	if (err)
		goto out;
	watch_drain(w); /* a kernel side that had fallen silent books that itself */
	if (saved && !whole && adopted)
		watch_gap(w, r.last_ns);
	else if (saved && !whole)
		w->away_ns = r.last_ns; /* and until the targets are attached to */
	journal_flush(w->journal);
	processes_take_over(&r);
	loader_heartbeat(w->loader, &silent_ns);
	watch_drain(w);
	/* Who is killed again and again before a save is due would read a longer tape each time. */
	loader_commit(w->loader);
	journal_save(w->journal);
	if (adopted)
		log_info("took over from an earlier gp-bpf: %zu process%s",
			 processes_alive(w->processes), plural_es(processes_alive(w->processes)));
out:
	table_free(r.known, NULL);
	return err;
}

void watch_reconcile(struct watch *w)
{
	struct resuming r = {.watch = w};

	if (w->away_ns)
		watch_gap(w, w->away_ns);
	w->away_ns = 0;
	output_processes(w->out, on_live, &r);
	for (size_t i = 0; i < r.count; i++)
		watch_gone(w, r.unwatched[i]);
	journal_flush(w->journal);
	free(r.unwatched);
}

void watch_again(struct watch *w)
{
	struct resuming r = {.watch = w, .alive = true};

	output_processes(w->out, on_live, &r);
	for (size_t i = 0; i < r.count; i++)
		processes_target(w->processes, r.unwatched[i], false);
	journal_flush(w->journal);
	free(r.unwatched);
}

bool watch_busy(const struct watch *w)
{
	return processes_alive(w->processes);
}

void watch_ended(const struct watch *w, struct watch_end *ret)
{
	*ret = (struct watch_end){.reason = w->end, .signo = w->end_signo};
}
