/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/export_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define NS_PER_S   1000000000ull
#define IDLE_NS	   (NS_PER_S / 4) /* one turn of idle: the end is noticed this late at most */
#define CANCEL_NS  (NS_PER_S / 2) /* time that cancelled work may still take */
#define SOON_NS	   (NS_PER_S / 2) /* limit of the last work when another process waits */
#define THREAD_MAX 16		  /* bytes of a thread's name: the kernel's TASK_COMM_LEN */

struct export_worker {
	struct export_worker_job job;
	pthread_t thread;
	pthread_mutex_t lock; /* protects all members below; never held while the job runs */
	pthread_cond_t news;
	struct snapshot *latest; /* not processed yet; NULL: none */
	/* the last snapshot that was too early, processed if the end comes now; or NULL */
	struct snapshot *early;
	struct export_view view;
	uint64_t superseded;	 /* intervals that passed while work took longer */
	uint64_t asked, flushed; /* numbers of flushes */
	uint64_t flush_by_ns;	 /* 0: the end has not begun */
	bool ended;
};

static void export_worker_timespec_of(struct timespec *ts, uint64_t ns)
{
	ts->tv_sec = (time_t)(ns / NS_PER_S);
	ts->tv_nsec = (long)(ns % NS_PER_S);
}

/* Call with the lock held. The view is built without the lock and published at once. */
static void export_worker_publish(struct export_worker *w, const struct export_view *view)
{
	w->view = *view;
	w->view.name = w->job.name;
	w->view.superseded = w->superseded;
}

/* Called and returns with the lock held. */
static void export_worker_asked(struct export_worker *w)
{
	struct export_view view;
	uint64_t asked;

	while (w->job.flush && w->flushed < w->asked) {
		asked = w->asked;
		view = w->view;
		pthread_mutex_unlock(&w->lock);
		w->job.flush(w->job.ctx, &view);
		pthread_mutex_lock(&w->lock);
		export_worker_publish(w, &view);
		w->flushed = asked;
		pthread_cond_broadcast(&w->news);
	}
}

/* Called and returns with the lock held. Returns when there is something to do, or the end has
 * begun. */
static void export_worker_sleep(struct export_worker *w, uint64_t until_ns)
{
	struct timespec ts;

	export_worker_timespec_of(&ts, until_ns);
	export_worker_asked(w);
	while (!w->flush_by_ns && clock_mono_ns() < until_ns) {
		if (pthread_cond_timedwait(&w->news, &w->lock, &ts) == ETIMEDOUT)
			break;
		export_worker_asked(w);
	}
}

static void export_worker_idle(struct export_worker *w, uint64_t until_ns)
{
	struct export_view view;
	uint64_t turn_ns;
	bool more = w->job.idle;

	while (!w->flush_by_ns && (turn_ns = clock_mono_ns()) < until_ns) {
		turn_ns = more && turn_ns + IDLE_NS < until_ns ? turn_ns + IDLE_NS : until_ns;
		if (more) {
			view = w->view;
			pthread_mutex_unlock(&w->lock);
			more = w->job.idle(w->job.ctx, turn_ns, &view);
			pthread_mutex_lock(&w->lock);
			export_worker_publish(w, &view);
		}
		export_worker_sleep(w, turn_ns);
	}
}

/* Called and returns with the lock held; latest is set. */
static bool export_worker_work(struct export_worker *w, uint64_t deadline_ns, bool last)
{
	struct snapshot *s = w->latest;
	struct export_view view = w->view;
	bool done;

	w->latest = NULL;
	pthread_mutex_unlock(&w->lock);
	done = w->job.work(w->job.ctx, s, deadline_ns, last, &view);
	snapshot_unref(w->early);
	w->early = done ? NULL : snapshot_ref(s);
	snapshot_unref(s);
	pthread_mutex_lock(&w->lock);
	export_worker_publish(w, &view);
	return done;
}

/* Called and returns with the lock held. Waits for a snapshot or the end. */
static void export_worker_await(struct export_worker *w)
{
	export_worker_asked(w);
	while (!w->latest && !w->flush_by_ns) {
		pthread_cond_wait(&w->news, &w->lock);
		export_worker_asked(w);
	}
}

static void *export_worker_run(void *arg)
{
	struct export_worker *w = arg;
	uint64_t due_ns, now_ns;

	pthread_mutex_lock(&w->lock);
	export_worker_await(w);
	due_ns = clock_mono_ns();
	while (!w->flush_by_ns) {
		due_ns += w->job.interval_ns;
		while (w->latest && !w->flush_by_ns && !export_worker_work(w, due_ns, false))
			export_worker_await(w);
		now_ns = clock_mono_ns();
		if (now_ns > due_ns) {
			w->superseded += (now_ns - due_ns) / w->job.interval_ns + 1;
			due_ns = now_ns;
		}
		export_worker_idle(w, due_ns);
	}
	if (!w->latest) {
		w->latest = w->early;
		w->early = NULL;
	}
	if (w->latest)
		export_worker_work(w, w->flush_by_ns, true);
	w->ended = true;
	pthread_cond_broadcast(&w->news);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int export_worker_start(struct export_worker *w)
{
	char name[THREAD_MAX];
	sigset_t all, was;
	int err;

	/* The main thread handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	err = -pthread_create(&w->thread, NULL, export_worker_run, w);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (err)
		return err;
	strncpy(name, w->job.name, sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	pthread_setname_np(w->thread, name);
	return 0;
}

int export_worker_open(struct export_worker **ret, const struct export_worker_job *job)
{
	struct export_worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	int err;

	if (!w)
		return -ENOMEM;
	w->job = *job;
	w->view.name = job->name;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->news, &attr);
	pthread_condattr_destroy(&attr);
	err = export_worker_start(w);
	if (err) {
		log_error("--export %s: its thread does not start: %s", job->name, strerror(-err));
		pthread_cond_destroy(&w->news);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void export_worker_snapshot(struct export_worker *w, struct snapshot *s)
{
	struct snapshot *old, *own = snapshot_ref(s);

	pthread_mutex_lock(&w->lock);
	old = w->latest;
	w->latest = own;
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->lock);
	snapshot_unref(old);
}

void export_worker_flush(struct export_worker *w, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns, mine;
	struct timespec ts;
	bool waits;

	export_worker_timespec_of(&ts, until_ns);
	pthread_mutex_lock(&w->lock);
	/* otherwise a flush that was waited for before still runs */
	waits = w->flushed == w->asked;
	mine = ++w->asked;
	pthread_cond_broadcast(&w->news);
	while (waits && w->job.flush && w->flushed < mine && !w->ended &&
	       clock_mono_ns() < until_ns)
		if (pthread_cond_timedwait(&w->news, &w->lock, &ts) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&w->lock);
}

void export_worker_view(struct export_worker *w, struct export_view *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->view;
	ret->superseded = w->superseded;
	pthread_mutex_unlock(&w->lock);
}

void export_worker_end(struct export_worker *w, bool soon)
{
	uint64_t flush_ns = soon && w->job.flush_ns > SOON_NS ? SOON_NS : w->job.flush_ns;

	pthread_mutex_lock(&w->lock);
	if (!w->flush_by_ns)
		w->flush_by_ns = clock_mono_ns() + flush_ns;
	pthread_cond_broadcast(&w->news);
	pthread_mutex_unlock(&w->lock);
}

/* Returns true if another signal to end is pending: signals are blocked during the end. */
static bool export_worker_hurried(void)
{
	sigset_t waiting;

	sigemptyset(&waiting);
	sigpending(&waiting);
	return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1;
}

/* Called and returns with the lock held. */
static void export_worker_wait(struct export_worker *w)
{
	uint64_t until_ns = w->flush_by_ns + CANCEL_NS, now_ns;
	struct timespec ts;

	while (!w->ended && (now_ns = clock_mono_ns()) < until_ns && !export_worker_hurried()) {
		export_worker_timespec_of(&ts, now_ns + IDLE_NS < until_ns ? now_ns + IDLE_NS
									   : until_ns);
		pthread_cond_timedwait(&w->news, &w->lock, &ts);
	}
}

void export_worker_close(struct export_worker *w, struct export_view *ret_view)
{
	if (!w)
		return;
	export_worker_end(w, false);
	pthread_mutex_lock(&w->lock);
	export_worker_wait(w);
	if (!w->ended && w->job.cancel) {
		pthread_mutex_unlock(&w->lock);
		w->job.cancel(w->job.ctx);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	if (ret_view)
		export_worker_view(w, ret_view);
	snapshot_unref(w->latest);
	snapshot_unref(w->early);
	pthread_cond_destroy(&w->news);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
