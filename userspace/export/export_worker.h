/* SPDX-License-Identifier: Apache-2.0 */
/* export_worker.h - runs an exporter on its own thread, because its backend may be slow, faulty or
 * dead. The worker receives a snapshot at each tick, keeps the newest, and passes one to work() at
 * each interval. export_worker_snapshot() never waits. */
#ifndef EXPORT_EXPORT_WORKER_H
#define EXPORT_EXPORT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/snapshot.h"

struct export_worker_job {
	const char
		*name; /* name of the exporter (static); its first 15 characters name the thread */
	void *ctx;
	/* time between two calls of work(), which is first called with the first snapshot */
	uint64_t interval_ns;
	uint64_t flush_ns; /* time limit of the last call of work() */
	/* Exports a snapshot. work() and idle() run on the worker's thread; their deadlines are
	 * CLOCK_MONOTONIC. s: the newest snapshot, owned by the worker; last: the last call. view:
	 * state of the exporter, kept between calls, to be updated. Returns false if it is too
	 * early: work() is called again with the next snapshot. */
	bool (*work)(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
		     struct export_view *view);
	/* Called repeatedly between two calls of work(); must return by until_ns. Returns false
	 * when nothing is left to do before the next work(). May be NULL. */
	bool (*idle)(void *ctx, uint64_t until_ns, struct export_view *view);
	/* Called on the worker's thread after export_worker_flush(). May be NULL. */
	void (*flush)(void *ctx, struct export_view *view);
	/* Called from another thread: makes the running call and all later ones return soon. May
	 * be NULL. */
	void (*cancel)(void *ctx);
};

struct export_worker;
/* Starts the thread. Copies job. Returns 0, or -errno after logging the error. */
int export_worker_open(struct export_worker **ret, const struct export_worker_job *job);
/* Passes a snapshot, of which the worker takes a reference. Never waits for work(). */
void export_worker_snapshot(struct export_worker *w, struct snapshot *s);
/* Requests a call of flush(), and waits up to within_ns until it is done; does not wait if an
 * earlier flush still runs. Call from the snapshot thread. */
void export_worker_flush(struct export_worker *w, uint64_t within_ns);
/* Copies the latest state of the exporter. From any thread. */
void export_worker_view(struct export_worker *w, struct export_view *ret);
/* Starts the last call of work(), limited to flush_ns from now (soon: to at most half a second,
 * because a successor waits). Does not wait, so several workers can end in parallel. Only the first
 * call has an effect. */
void export_worker_end(struct export_worker *w, bool soon);
/* Calls export_worker_end() unless it was called. Waits for the last work() up to its time limit,
 * then cancels it (at once if another SIGINT or SIGTERM is pending; both are blocked). Frees w,
 * after which ctx belongs to the caller again. ret_view may be NULL. */
void export_worker_close(struct export_worker *w, struct export_view *ret_view);

#endif
