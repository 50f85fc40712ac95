/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "userspace/base/clock.h"

#define NS_PER_S 1000000000ull

struct worker_start {
	struct worker *worker;
	const char *name;
	worker_fn *fn;
	void *ctx;
};

void worker_init(struct worker *w)
{
	pthread_condattr_t attr;

	*w = (struct worker){0};
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static void *worker_run(void *arg)
{
	struct worker_start s = *(struct worker_start *)arg;

	free(arg);
	/* Sets the name from within the thread, because pthread_setname_np() from another thread
	 * would open a file in /proc. */
	prctl(PR_SET_NAME, s.name, 0, 0, 0);
	s.fn(s.ctx);
	worker_lock(s.worker);
	s.worker->running--;
	worker_wake(s.worker);
	worker_unlock(s.worker);
	return NULL;
}

int worker_start(struct worker *w, const char *name, worker_fn *fn, void *ctx)
{
	struct worker_start *s;
	sigset_t all, before;
	int err;

	if (w->count == WORKER_THREADS)
		return -EAGAIN;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct worker_start){.worker = w, .name = name, .fn = fn, .ctx = ctx};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	worker_lock(w);
	err = -pthread_create(&w->thread[w->count], NULL, worker_run, s);
	if (!err) {
		w->count++;
		w->running++;
	}
	worker_unlock(w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		free(s);
	return err;
}

void worker_lock(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
}

void worker_unlock(struct worker *w)
{
	pthread_mutex_unlock(&w->lock);
}

void worker_wake(struct worker *w)
{
	pthread_cond_broadcast(&w->changed);
}

bool worker_wait(struct worker *w, uint64_t until_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(until_ns / NS_PER_S),
			      .tv_nsec = (long)(until_ns % NS_PER_S)};

	if (until_ns == WORKER_FOREVER)
		pthread_cond_wait(&w->changed, &w->lock);
	else if (clock_mono_ns() >= until_ns ||
		 pthread_cond_timedwait(&w->changed, &w->lock, &ts) == ETIMEDOUT)
		return false;
	return true;
}

bool worker_sleep(struct worker *w, uint64_t ns)
{
	uint64_t until_ns = clock_mono_ns() + ns;
	bool stop;

	worker_lock(w);
	while (!w->stop && worker_wait(w, until_ns))
		;
	stop = w->stop;
	worker_unlock(w);
	return !stop;
}

bool worker_stops(struct worker *w)
{
	bool stop;

	worker_lock(w);
	stop = w->stop;
	worker_unlock(w);
	return stop;
}

void worker_stop(struct worker *w)
{
	worker_lock(w);
	w->stop = true;
	worker_wake(w);
	worker_unlock(w);
}

bool worker_ended(struct worker *w, uint64_t until_ns)
{
	bool ended;

	worker_lock(w);
	while (w->running && worker_wait(w, until_ns))
		;
	ended = !w->running;
	worker_unlock(w);
	return ended;
}

void worker_join(struct worker *w)
{
	worker_stop(w);
	while (w->count)
		pthread_join(w->thread[--w->count], NULL);
}

void worker_free(struct worker *w)
{
	worker_join(w);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
}
