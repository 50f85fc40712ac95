/* SPDX-License-Identifier: Apache-2.0 */
/* export_worker.h - the thread of an exporter whose backend may be slow, faulty or dead. It
 * receives a snapshot each tick, keeps the newest, and processes one each interval.
 * export_worker_snapshot() never waits. */
#ifndef EXPORT_EXPORT_WORKER_H
#define EXPORT_EXPORT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/snapshot.h"

struct export_worker_job {
	const char
		*name; /* name of the exporter (static); its first 15 characters name the thread */
	void *ctx;
	/* from one call of work to the next; the first call comes with the first snapshot */
	uint64_t interval_ns;
	uint64_t flush_ns; /* limit of the last call */
	/* work and idle run on the worker's thread; deadlines on CLOCK_MONOTONIC. s: the newest
	 * snapshot, borrowed; last: there is no other one. view: state of the exporter, kept
	 * between calls, to be updated. Returns false if this snapshot is too early: the next one
	 * is wanted as soon as it arrives. */
	bool (*work)(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		     struct export_view *view);
	/* Called repeatedly between two calls of work; must return by until_ns. Returns false when
	 * nothing is left to do before the next work. May be NULL. */
	bool (*idle)(void *ctx, uint64_t until_ns, struct export_view *view);
	/* On the worker's thread, after export_worker_flush() was called. May be NULL. */
	void (*flush)(void *ctx, struct export_view *view);
	/* From another thread: the running call must return soon, and all later ones. May be
	 * NULL. */
	void (*cancel)(void *ctx);
};

struct export_worker;
/* Starts the thread. Returns 0, or -errno after one line. job is copied. */
int export_worker_open(struct export_worker **ret, const struct export_worker_job *job);
/* Takes its own reference. Never waits for work(). */
void export_worker_snapshot(struct export_worker *w, struct snapshot *s);
/* Runs the job's flush and waits for it up to within_ns; does not wait while an earlier flush still
 * runs, but it will run later in any case. Call from the snapshot thread. */
void export_worker_flush(struct export_worker *w, uint64_t within_ns);
/* Copies the latest state of the exporter. From any thread. */
void export_worker_view(struct export_worker *w, struct export_view *ret);
/* Starts the end: the last work begins and has flush_ns from now on; soon: half a second at most,
 * because another process waits. Does not wait for it, so several workers can end in parallel. Only
 * the first call counts. */
void export_worker_end(struct export_worker *w, bool soon);
/* Calls export_worker_end() if that was not done. Waits for the last work within its time limit;
 * then cancels it, at once if another SIGINT or SIGTERM is pending (both are blocked). Frees w; ctx
 * belongs to the caller again. ret_view may be NULL. */
void export_worker_close(struct export_worker *w, struct export_view *ret_view);

#endif
