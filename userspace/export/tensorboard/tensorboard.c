/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard.c - the exporter of --export tensorboard:DIR[,interval=SECONDSs]: TensorBoard event
 * files. The main thread queues steps; the exporter's thread writes them, and a snapshot at each
 * interval. In a replay the main thread writes, and waits for the disk. */
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/confine.h"
#include "userspace/base/grow.h"
#include "userspace/base/log.h"
#include "userspace/export/exporter.h"
#include "userspace/export/tensorboard/tensorboard_board.h"
#include "userspace/export/tensorboard/tensorboard_job.h"
#include "userspace/export/tensorboard/tensorboard_log.h"
#include "userspace/export/export_worker.h"

#define NS_PER_S       1000000000ull
#define INTERVAL_S     30 /* time between writes: the goodput library's default */
#define INTERVAL_MAX_S 3600
#define FLUSH_NS       (9 * NS_PER_S / 2) /* time limit of the last write, before it is cancelled */
#define SAVE_NS	       (NS_PER_S / 2)	  /* longest wait for a slow disk when the state is saved */
#define QUEUE_STEPS    32768 /* limit of queued steps: 64 ranks at 10 steps/s make 19,200 in 30 s */
#define INTERVAL_WORD  ",interval="

struct tensorboard {
	/* board, jobs and drained are used only by the worker's thread if there is a worker */
	struct tb_board *board;
	struct tb_jobs *jobs;
	struct tb_step *drained; /* second buffer, which is swapped with the queue */
	uint32_t drained_cap;
	uint64_t interval_ns;
	bool resume; /* write facts that a predecessor reported, too: they may be missing in the
			files */
	struct export_worker *worker; /* NULL in a replay */
	uint64_t due_ns;	      /* replay: time of the next snapshot */
	pthread_mutex_t lock;	      /* protects all members below */
	struct tb_step *queue;
	uint32_t queued, queue_cap;
	uint64_t unqueued; /* steps dropped from the queue that were not yet counted in `board` */
};

/* ---- the queue ------------------------------------------------------------------------------- */

static void tensorboard_steps_queue(struct tensorboard *t, const struct tb_step *s)
{
	struct tb_step *queue;

	pthread_mutex_lock(&t->lock);
	queue = t->queued < QUEUE_STEPS ? grow_items(t->queue, &t->queue_cap, t->queued + 1,
						     QUEUE_STEPS, sizeof(*queue))
					: NULL;
	if (queue) {
		t->queue = queue;
		t->queue[t->queued++] = *s;
	} else {
		t->unqueued++;
	}
	pthread_mutex_unlock(&t->lock);
}

/* Writes the queued steps to the board; does nothing if fewer than `least` are queued. */
static void tensorboard_steps_drain(struct tensorboard *t, uint32_t least)
{
	struct tb_step *steps;
	uint64_t unqueued;
	uint32_t n, cap;

	pthread_mutex_lock(&t->lock);
	n = t->queued;
	if (n < least) {
		pthread_mutex_unlock(&t->lock);
		return;
	}
	steps = t->queue;
	cap = t->queue_cap;
	t->queue = t->drained;
	t->queue_cap = t->drained_cap;
	t->queued = 0;
	t->drained = steps;
	t->drained_cap = cap;
	unqueued = t->unqueued;
	t->unqueued = 0;
	pthread_mutex_unlock(&t->lock);
	for (uint32_t i = 0; i < n; i++)
		tb_jobs_step(t->jobs, &steps[i]);
	if (unqueued)
		tb_board_drop(t->board, TB_DROP_QUEUE, unqueued);
}

/* ---- the worker ------------------------------------------------------------------------------ */

static bool tensorboard_board_work(void *ctx, struct snapshot *s, uint64_t deadline_ns, bool last,
				   struct export_view *view)
{
	struct tensorboard *t = ctx;

	(void)deadline_ns;
	(void)last;
	tb_jobs_snapshot(t->jobs, s);
	tensorboard_steps_drain(t, 0);
	tb_board_flush(t->board);
	tb_board_view(t->board, view);
	return true;
}

static bool tensorboard_board_idle(void *ctx, uint64_t until_ns, struct export_view *view)
{
	struct tensorboard *t = ctx;

	(void)until_ns;
	tensorboard_steps_drain(t, QUEUE_STEPS / 2);
	tb_board_view(t->board, view);
	return true;
}

static void tensorboard_board_flush(void *ctx, struct export_view *view)
{
	struct tensorboard *t = ctx;

	tensorboard_steps_drain(t, 0);
	tb_board_flush(t->board);
	tb_board_view(t->board, view);
}

static void tensorboard_board_cancel(void *ctx)
{
	tb_board_cancel(((struct tensorboard *)ctx)->board);
}

/* ---- the exporter ---------------------------------------------------------------------------- */

/* Parses "DIR,interval=5s". The caller frees *ret_dir. */
static int tensorboard_argument(struct tensorboard *t, const char *arg, char **ret_dir)
{
	const char *word = arg ? strstr(arg, INTERVAL_WORD) : NULL;
	size_t len = word ? (size_t)(word - arg) : strlen(arg ? arg : "");
	unsigned long s = INTERVAL_S;
	char *end;

	if (word) {
		errno = 0;
		s = strtoul(word + strlen(INTERVAL_WORD), &end, 10);
		if (errno || strcmp(end, "s") != 0 || s < 1 || s > INTERVAL_MAX_S)
			len = 0;
	}
	if (!len) {
		log_error(
			"--export tensorboard%s%s: expected DIR or DIR,interval=Ns with N from 1 to 3600; for example: runs,interval=30s",
			arg && *arg ? ":" : "", arg ? arg : "");
		return -EINVAL;
	}
	t->interval_ns = s * NS_PER_S;
	*ret_dir = strndup(arg, len);
	return *ret_dir ? 0 : -ENOMEM;
}

static int tensorboard_check(const char *arg, const struct export_options *opt)
{
	struct tensorboard t = {0};
	char *dir = NULL;
	int err = tensorboard_argument(&t, arg, &dir);

	(void)opt;
	free(dir);
	return err;
}

static int tensorboard_free(struct tensorboard *t)
{
	int err = tb_board_close(t->board);

	tb_jobs_free(t->jobs);
	pthread_mutex_destroy(&t->lock);
	free(t->queue);
	free(t->drained);
	free(t);
	return err;
}

static int tensorboard_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct export_worker_job job = {.name = export_tensorboard.name, .flush_ns = FLUSH_NS};
	struct tensorboard *t = calloc(1, sizeof(*t));
	char *dir = NULL;
	int err;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	err = tensorboard_argument(t, arg, &dir);
	if (!err)
		err = tb_board_open(&t->board, dir, !opt->replay);
	if (!err)
		err = tb_jobs_new(&t->jobs, t->board);
	job.ctx = t;
	job.interval_ns = t->interval_ns;
	job.work = tensorboard_board_work;
	job.idle = tensorboard_board_idle;
	job.flush = tensorboard_board_flush;
	job.cancel = tensorboard_board_cancel;
	t->resume = opt->resume;
	if (!err && !opt->replay)
		err = export_worker_open(&t->worker, &job);
	free(dir);
	if (err) {
		tensorboard_free(t);
		return err;
	}
	*ret_state = t;
	return 0;
}

static void tensorboard_fact(void *state, const struct fact *f)
{
	struct tensorboard *t = state;
	struct tb_step step;

	if ((f->repeated && !t->resume) || !tb_step_of(&step, f))
		return;
	if (t->worker)
		tensorboard_steps_queue(t, &step);
	else
		tb_jobs_step(t->jobs, &step);
}

static void tensorboard_snapshot(void *state, struct snapshot *s)
{
	struct tensorboard *t = state;

	if (t->worker) {
		export_worker_snapshot(t->worker, s);
		return;
	}
	tb_jobs_snapshot(t->jobs, s);
	tb_board_flush(t->board);
	t->due_ns = s->mono_ns + t->interval_ns;
}

/* Writes all queued steps before the state is saved: a successor that restores the state does not
 * get the facts before it again. Waits at most SAVE_NS. */
static void tensorboard_save(void *state)
{
	struct tensorboard *t = state;

	if (t->worker)
		export_worker_flush(t->worker, SAVE_NS);
}

static bool tensorboard_due(void *state, uint64_t mono_ns)
{
	const struct tensorboard *t = state;

	return !t->worker && (mono_ns >= t->due_ns || tb_jobs_wait(t->jobs));
}

static void tensorboard_view(void *state, struct export_view *ret)
{
	struct tensorboard *t = state;

	ret->name = export_tensorboard.name;
	if (t->worker)
		export_worker_view(t->worker, ret);
	else
		tb_board_view(t->board, ret);
}

static void tensorboard_end(void *state, bool soon)
{
	struct tensorboard *t = state;

	if (t->worker)
		export_worker_end(t->worker, soon);
}

static int tensorboard_close(void *state)
{
	struct tensorboard *t = state;

	export_worker_close(t->worker, NULL);
	tensorboard_steps_drain(t, 0);
	return tensorboard_free(t);
}

const struct exporter export_tensorboard = {
	.name = "tensorboard",
	.help = "event files in the folder DIR: step times, goodput and badput; DIR[,interval=30s]",
	.spec = {"tensorboard:DIR"},
	.usage = {[EXPORT_EVENTS] = "tensorboard:DIR", [EXPORT_LOG] = "tensorboard:DIR"},
	.place = EXPORT_TO_FOLDER,
	.setting = {INTERVAL_WORD},
	.capabilities = CONFINE_CAP(
		CAP_CHOWN), /* to give a run's folder the owner of its parent folder */
	.check = tensorboard_check,
	.open = tensorboard_open,
	.fact = tensorboard_fact,
	.snapshot = tensorboard_snapshot,
	.due = tensorboard_due,
	.save = tensorboard_save,
	.view = tensorboard_view,
	.end = tensorboard_end,
	.close = tensorboard_close,
	.log_check = tensorboard_log_check,
	.log_write = tensorboard_log_write,
};
