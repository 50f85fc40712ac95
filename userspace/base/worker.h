/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - threads besides the main one: start, name, lock, waiting, end. A worker is one to
 * three threads that share a lock; the lock also protects the data that the user of the worker
 * shares with them. Signals are blocked in these threads, because the main thread handles them. The
 * user keeps a queue of requests in that data, and calls worker_wake() after a change. */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKER_THREADS 3	  /* most threads of one worker */
#define WORKER_FOREVER UINT64_MAX /* for until_ns: wait without a limit */

/* Must be zeroed before worker_init(). Users may read `stop` and `running` with the lock held; the
 * other fields are private. */
struct worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread[WORKER_THREADS];
	unsigned count;	  /* threads that were started */
	unsigned running; /* threads whose function has not returned yet */
	bool stop;	  /* the threads are asked to end */
};

/* The function of a thread. It must return soon after w->stop is set. */
typedef void worker_fn(void *ctx);

/* Initializes the lock. Starts no thread. */
void worker_init(struct worker *w);
/* Starts one more thread, which runs fn(ctx). name: of the thread, a literal, of which 15
 * characters are used. Returns 0 or -errno, without logging; -EAGAIN: the worker has WORKER_THREADS
 * already, or the system has too many. */
int worker_start(struct worker *w, const char *name, worker_fn *fn, void *ctx);

void worker_lock(struct worker *w);
void worker_unlock(struct worker *w);
/* Wakes all that wait in worker_wait(): threads of the worker, and callers that wait for them. The
 * lock may be held or not. */
void worker_wake(struct worker *w);
/* Waits until worker_wake(), or until until_ns (CLOCK_MONOTONIC); may return earlier without a
 * reason. Call with the lock held; it is released during the wait. Returns false if until_ns has
 * passed. */
bool worker_wait(struct worker *w, uint64_t until_ns);
/* Waits for ns, or until the worker is asked to end. Call without the lock, in a thread of the
 * worker. Returns false if the worker is asked to end. */
bool worker_sleep(struct worker *w, uint64_t ns);
/* Returns true if the worker is asked to end. Call without the lock. */
bool worker_stops(struct worker *w);

/* Asks the threads to end and wakes them; does not wait. The user must then cancel any call that
 * blocks a thread (a request, a child). */
void worker_stop(struct worker *w);
/* Waits until all threads have ended, or until until_ns. Returns false if they have not. Call
 * without the lock. */
bool worker_ended(struct worker *w, uint64_t until_ns);
/* Asks the threads to end as worker_stop() does, then waits for them without a limit. May be called
 * again. The lock can still be used. */
void worker_join(struct worker *w);
/* Ends the threads as worker_join() does, then destroys the lock. */
void worker_free(struct worker *w);

#endif
