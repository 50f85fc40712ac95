/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - threads beside the main one: start, signal mask, name, lock, waiting, end. A worker is
 * one or several threads that share a lock; the lock also protects what its user shares with them.
 * Signals are blocked in all threads, because the main thread handles them. The user keeps the
 * requests that wait for a thread, and their order, under the lock, and calls worker_wake(). */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKER_THREADS 3	  /* most threads of one worker */
#define WORKER_FOREVER UINT64_MAX /* value of until_ns without a limit */

/* Zero before worker_init(). Users may read the fields stop and running with the lock held; the
 * rest is private. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread[WORKER_THREADS];
	unsigned count;	  /* threads that were started */
	unsigned running; /* threads whose function has not returned */
	bool stop;	  /* the worker is asked to end */
};

/* The function of a thread; must return soon after w->stop is set. */
typedef void worker_fn(void *ctx);

/* Prepares the lock; starts nothing. */
void worker_init(struct worker *w);
/* Starts one more thread, which runs fn(ctx). name: of the thread, static; 15 characters are kept.
 * Returns 0 or -errno without a message. -EAGAIN: the worker, or the system, has no more
 * threads. */
int worker_start(struct worker *w, const char *name, worker_fn *fn, void *ctx);

void worker_lock(struct worker *w);
void worker_unlock(struct worker *w);
/* Wakes everything that waits in this worker: its threads, and callers that wait for threads. With
 * or without the lock held. */
void worker_wake(struct worker *w);
/* Waits for a wake-up or until until_ns (CLOCK_MONOTONIC); spurious returns are possible. Call with
 * the lock held, which is released meanwhile. Returns false if until_ns has passed. */
bool worker_wait(struct worker *w, uint64_t until_ns);
/* Waits for ns, or until the worker is asked to end. Call without the lock, in a thread of the
 * worker. Returns false if the worker is asked to end. */
bool worker_sleep(struct worker *w, uint64_t ns);
/* Returns true if the worker is asked to end. Call without the lock. */
bool worker_stops(struct worker *w);

/* Asks the threads to end and wakes them; does not wait. The user must then cancel any call that
 * blocks a thread (a request, a child). */
void worker_stop(struct worker *w);
/* Waits until all threads have ended, or until until_ns. Returns false if time ran out. Call
 * without the lock. */
bool worker_ended(struct worker *w, uint64_t until_ns);
/* Like worker_stop(), then waits for the threads without a limit. The lock stays usable;
 * idempotent. */
void worker_join(struct worker *w);
/* Like worker_join(), then destroys the lock. */
void worker_free(struct worker *w);

#endif
