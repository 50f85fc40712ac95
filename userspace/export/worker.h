/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - the thread of an exporter whose backend may be slow, wrong or dead. It is given a
 * snapshot each tick, keeps the newest, and looks at one each interval: who gives it never
 * waits. */
#ifndef EXPORT_WORKER_H
#define EXPORT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/snapshot.h"

struct worker_job {
	const char
		*name; /* of the exporter: static text; the thread's too, its first 15 characters */
	void *ctx;
	uint64_t interval_ns; /* from one call of work to the next; the first comes with the first
				 snapshot */
	uint64_t flush_ns;    /* that the last call may take */
	/* Both on the worker's thread; deadlines on CLOCK_MONOTONIC. s: the newest snapshot, on
	 * loan; last: no other will come. What it has to tell of itself goes into view, which holds
	 * what it told before. false: this snapshot is too early, the next one is wanted as soon as
	 * it is there. */
	bool (*work)(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		     struct export_view *view);
	/* Between two of these, again and again: returns at until_ns at the latest. false: nothing
	 * is left to do before the next work. May be NULL. */
	bool (*idle)(void *ctx, uint64_t until_ns, struct export_view *view);
	/* On the worker's thread, between the others: worker_flush() was called. May be NULL. */
	void (*flush)(void *ctx, struct export_view *view);
	/* From another thread: the call that goes on is to return soon; those to come as well. May
	 * be NULL. */
	void (*cancel)(void *ctx);
};

struct worker;
/* Starts the thread. 0 or -errno after one line. job is copied. */
int worker_open(struct worker **ret, const struct worker_job *job);
/* Takes its own reference. Never waits for the thread's work. */
void worker_snapshot(struct worker *w, struct snapshot *s);
/* The job's flush, waited for so long at most, and not at all while the one before goes on; later
 * it comes all the same. Call from the snapshot thread. */
void worker_flush(struct worker *w, uint64_t within_ns);
/* What it told of itself last. From any thread. */
void worker_view(struct worker *w, struct export_view *ret);
/* The end comes: the last work begins, and has flush_ns from now on; soon: half a second at most,
 * somebody waits for us. Does not wait for it: several can end at once. What was said first
 * counts. */
void worker_end(struct worker *w, bool soon);
/* worker_end(), where it was not said. The last work, within its time; what takes longer is
 * cancelled, at once where another SIGINT or SIGTERM waits (both are blocked). Frees w; ctx is the
 * caller's again. ret_view may be NULL. */
void worker_close(struct worker *w, struct export_view *ret_view);

#endif
