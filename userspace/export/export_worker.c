/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/export_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/worker.h"

#define NS_PER_S  1000000000ull
#define IDLE_NS	  (NS_PER_S / 4) /* time limit of each call of idle(), and of each wait */
#define CANCEL_NS (NS_PER_S / 2) /* time for a call to return after cancel() */
#define SOON_NS	  (NS_PER_S / 2) /* time limit of the last work() if a successor process waits */

struct export_worker {
	struct export_worker_job job;
	/* The thread's lock protects all members below; never held during calls of the job. */
	struct worker thread;
	struct snapshot *latest; /* snapshot for the next work(); NULL: none */
	/* the last snapshot that was too early for work(), or NULL; it is processed at the end
	 * unless a newer snapshot arrives */
	struct snapshot *early;
	struct export_view view;
	uint64_t superseded;	 /* number of intervals skipped because work() took too long */
	uint64_t asked, flushed; /* number of flushes that were requested, and that were done */
	uint64_t flush_by_ns; /* end of the time for the last work(); 0: gp-bpf does not end yet */
};

/* Publishes a view that was filled while the lock was not held. Call with the lock held. */
static void export_worker_publish(struct export_worker *w, const struct export_view *view)
{
	w->view = *view;
	w->view.name = w->job.name;
	w->view.superseded = w->superseded;
}

/* Runs the job's flush() if one was requested. Called and returns with the lock held. */
static void export_worker_asked(struct export_worker *w)
{
	struct export_view view;
	uint64_t asked;

	while (w->job.flush && w->flushed < w->asked) {
		asked = w->asked;
		view = w->view;
		worker_unlock(&w->thread);
		w->job.flush(w->job.ctx, &view);
		worker_lock(&w->thread);
		export_worker_publish(w, &view);
		w->flushed = asked;
		worker_wake(&w->thread);
	}
}

/* Waits until until_ns, or until gp-bpf begins to end (flush_by_ns). Meanwhile runs flush() if a
 * caller requests it. Called and returns with the lock held. */
static void export_worker_sleep(struct export_worker *w, uint64_t until_ns)
{
	export_worker_asked(w);
	while (!w->flush_by_ns && worker_wait(&w->thread, until_ns))
		export_worker_asked(w);
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
			worker_unlock(&w->thread);
			more = w->job.idle(w->job.ctx, turn_ns, &view);
			worker_lock(&w->thread);
			export_worker_publish(w, &view);
		}
		export_worker_sleep(w, turn_ns);
	}
}

/* Calls the job's work() with the latest snapshot, which must be set. Called and returns with the
 * lock held. */
static bool export_worker_work(struct export_worker *w, uint64_t deadline_ns, bool last)
{
	struct snapshot *s = w->latest;
	struct export_view view = w->view;
	bool done;

	w->latest = NULL;
	worker_unlock(&w->thread);
	done = w->job.work(w->job.ctx, s, deadline_ns, last, &view);
	snapshot_unref(w->early);
	w->early = done ? NULL : snapshot_ref(s);
	snapshot_unref(s);
	worker_lock(&w->thread);
	export_worker_publish(w, &view);
	return done;
}

/* Waits until a snapshot arrives or gp-bpf begins to end. Called and returns with the lock held. */
static void export_worker_await(struct export_worker *w)
{
	export_worker_asked(w);
	while (!w->latest && !w->flush_by_ns) {
		worker_wait(&w->thread, WORKER_FOREVER);
		export_worker_asked(w);
	}
}

static void export_worker_run(void *arg)
{
	struct export_worker *w = arg;
	uint64_t due_ns, now_ns;

	worker_lock(&w->thread);
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
	worker_unlock(&w->thread);
}

int export_worker_open(struct export_worker **ret, const struct export_worker_job *job)
{
	struct export_worker *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->job = *job;
	w->view.name = job->name;
	worker_init(&w->thread);
	err = worker_start(&w->thread, job->name, export_worker_run, w);
	if (err) {
		log_error("--export %s: cannot start a thread: %s", job->name, strerror(-err));
		worker_free(&w->thread);
		free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void export_worker_snapshot(struct export_worker *w, struct snapshot *s)
{
	struct snapshot *old, *own = snapshot_ref(s);

	worker_lock(&w->thread);
	old = w->latest;
	w->latest = own;
	worker_wake(&w->thread);
	worker_unlock(&w->thread);
	snapshot_unref(old);
}

void export_worker_flush(struct export_worker *w, uint64_t within_ns)
{
	uint64_t until_ns = clock_mono_ns() + within_ns, mine;
	bool waits;

	worker_lock(&w->thread);
	/* Do not wait if an earlier flush still runs, because then the disk is slow. */
	waits = w->flushed == w->asked;
	mine = ++w->asked;
	worker_wake(&w->thread);
	while (waits && w->job.flush && w->flushed < mine && w->thread.running &&
	       worker_wait(&w->thread, until_ns))
		;
	worker_unlock(&w->thread);
}

void export_worker_view(struct export_worker *w, struct export_view *ret)
{
	worker_lock(&w->thread);
	*ret = w->view;
	ret->superseded = w->superseded;
	worker_unlock(&w->thread);
}

void export_worker_end(struct export_worker *w, bool soon)
{
	uint64_t flush_ns = soon && w->job.flush_ns > SOON_NS ? SOON_NS : w->job.flush_ns;

	worker_lock(&w->thread);
	if (!w->flush_by_ns)
		w->flush_by_ns = clock_mono_ns() + flush_ns;
	worker_wake(&w->thread);
	worker_unlock(&w->thread);
}

/* Returns true if SIGINT or SIGTERM was received again: both signals are blocked while gp-bpf ends,
 * so they are pending. */
static bool export_worker_hurried(void)
{
	sigset_t waiting;

	sigemptyset(&waiting);
	sigpending(&waiting);
	return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1;
}

void export_worker_close(struct export_worker *w, struct export_view *ret_view)
{
	uint64_t until_ns, now_ns;

	if (!w)
		return;
	export_worker_end(w, false);
	/* read without the lock, because the value does not change any more */
	until_ns = w->flush_by_ns + CANCEL_NS;
	while ((now_ns = clock_mono_ns()) < until_ns && !export_worker_hurried())
		if (worker_ended(&w->thread,
				 now_ns + IDLE_NS < until_ns ? now_ns + IDLE_NS : until_ns))
			break;
	if (!worker_ended(&w->thread, 0) && w->job.cancel)
		w->job.cancel(w->job.ctx);
	worker_join(&w->thread);
	if (ret_view)
		export_worker_view(w, ret_view);
	snapshot_unref(w->latest);
	snapshot_unref(w->early);
	worker_free(&w->thread);
	free(w);
}
