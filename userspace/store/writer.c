/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/store/writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/plural.h"
#include "userspace/store/writer_private.h"

#define PERIOD_NS   1000000000ull
#define CLOSE_TRIES 3
#define WAIT_ROWS   64 /* minutes that may wait where nothing comes in real time */

/* ---- the thread
 * -------------------------------------------------------------------------------------- */

static void wait_due(struct store_writer *w)
{
	struct timespec until = {.tv_sec = (time_t)(w->next_ns / 1000000000),
				 .tv_nsec = (long)(w->next_ns % 1000000000)};

	w->idle = true;
	while (!w->stop && !w->wanted && !intake_due(w->intake))
		pthread_cond_wait(&w->asked, &w->lock);
	w->idle = false;
	while (!w->stop && !w->wanted && clock_mono_ns() < w->next_ns)
		pthread_cond_timedwait(&w->asked, &w->lock, &until);
}

static void *run(void *ctx)
{
	struct store_writer *w = ctx;
	uint64_t answers;
	int tries = 0;
	bool stop;

	do {
		pthread_mutex_lock(&w->lock);
		wait_due(w);
		stop = w->stop;
		answers = w->asks;
		w->wanted = false;
		pthread_mutex_unlock(&w->lock);
		pthread_mutex_lock(&w->file);
		if (stop)
			w->reopen_ns = 0;
		if (writer_cycle(w) && stop && ++tries < CLOSE_TRIES)
			stop = false;
		pthread_mutex_unlock(&w->file);
		pthread_mutex_lock(&w->lock);
		w->answers = answers;
		w->next_ns = clock_mono_ns() + PERIOD_NS;
		pthread_cond_broadcast(&w->answered);
		pthread_mutex_unlock(&w->lock);
	} while (!stop);
	return NULL;
}

static int start(struct store_writer *w)
{
	pthread_condattr_t attr;
	sigset_t all, was;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->file, NULL);
	pthread_cond_init(&w->asked, &attr);
	pthread_cond_init(&w->answered, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all); /* they are the loop's */
	pthread_sigmask(SIG_BLOCK, &all, &was);
	err = -pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	w->started = !err;
	return err;
}

int store_writer_open(struct store_writer **ret, const struct store_writer_options *o)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->options = *o;
	snprintf(w->path, sizeof(w->path), "%s", o->path);
	w->intake = intake_new();
	err = w->intake ? writer_connect(w) : -ENOMEM;
	w->stats.up = !err;
	if (err && err != -ENOMEM && err != -EMEDIUMTYPE && err != -EPROTO &&
	    (!o->named || err == -EBUSY || err == -ENOSPC || err == -EIO)) {
		store_close(w->store);
		w->store = NULL;
		w->trouble_ns = clock_mono_ns();
		w->reopen_ns = w->trouble_ns + WRITER_REOPEN_NS;
		log_warn("%s: cannot be opened: %s; what comes is kept in memory, and tried again",
			 w->path, store_why(err));
		w->trouble = err;
		w->stats.failed[writer_trouble(err)]++;
		err = 0;
	} else if (err) {
		log_error("store %s: %s", w->path, store_why(err));
	}
	err = err ? err : start(w);
	if (err) {
		store_close(w->store);
		intake_free(w->intake);
		free(w);
		return err;
	}
	*ret = w;
	return 0;
}

void store_writer_hand_over(struct store_writer *w)
{
	w->handed_over = true;
}

int store_writer_close(struct store_writer *w)
{
	struct store_writer_stats lost;
	bool left;

	if (!w)
		return 0;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->asked);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	store_writer_stats(w, &lost);
	left = intake_due(w->intake);
	if (left)
		log_error("%s: what was not written is lost: %s", w->path, store_why(w->trouble));
	if (lost.lost_ranks || lost.lost_notes || lost.lost_facts)
		log_warn("%s: there was no room for %llu rank%s, %llu note%s, %llu fact%s", w->path,
			 (unsigned long long)lost.lost_ranks, plural(lost.lost_ranks),
			 (unsigned long long)lost.lost_notes, plural(lost.lost_notes),
			 (unsigned long long)lost.lost_facts, plural(lost.lost_facts));
	if (w->store && w->handed_over)
		store_hand_over(w->store);
	else if (w->store && w->known && !left &&
		 write_session_ended(w->store, &w->session, clock_real_ns()))
		log_warn(
			"%s: that this watch ended could not be written: its jobs count as watched for "
			"three more minutes",
			w->path);
	store_close(w->store);
	intake_free(w->intake);
	pthread_cond_destroy(&w->asked);
	pthread_cond_destroy(&w->answered);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->file);
	free(w);
	return left ? -EIO : 0;
}

/* ---- what is told
 * ------------------------------------------------------------------------------------ */

void store_writer_session(struct store_writer *w, const struct gp_session *s,
			  uint64_t start_mono_ns)
{
	struct write_session session;
	int64_t told = 0;

	snprintf(session.key, sizeof(session.key), "%s/%llu", s->boot_id,
		 (unsigned long long)start_mono_ns);
	snprintf(session.boot_id, sizeof(session.boot_id), "%s", s->boot_id);
	snprintf(session.version, sizeof(session.version), "%s", s->version);
	snprintf(session.command, sizeof(session.command), "%s", s->command);
	pthread_mutex_lock(&w->file);
	if (strcmp(w->session.key, session.key) != 0) {
		w->session = session;
		w->known = false;
		if (w->store &&
		    !store_number(w->store, &told, "SELECT told FROM sessions WHERE key = ?", "t",
				  session.key))
			w->known = true;
		pthread_mutex_lock(&w->lock);
		w->intake->blind = !w->store;
		w->intake->skip = w->intake->closed = told > 0 ? (uint64_t)told : 0;
		pthread_mutex_unlock(&w->lock);
	}
	pthread_mutex_unlock(&w->file);
}

uint64_t store_writer_told(struct store_writer *w)
{
	uint64_t told;

	pthread_mutex_lock(&w->lock);
	told = w->intake->skip;
	pthread_mutex_unlock(&w->lock);
	return told;
}

void store_writer_fact(struct store_writer *w, const struct fact *f)
{
	if (f->type == FACT_START)
		store_writer_session(w, f->start, f->mono_ns);
	pthread_mutex_lock(&w->lock);
	intake_fact(w->intake, f);
	pthread_mutex_unlock(&w->lock);
}

/* Under the lock. */
static void wait_written(struct store_writer *w)
{
	uint64_t ask = ++w->asks;

	w->wanted = true;
	pthread_cond_signal(&w->asked);
	while (w->answers < ask)
		pthread_cond_wait(&w->answered, &w->lock);
}

void store_writer_snapshot(struct store_writer *w, const struct snapshot *s, bool wait)
{
	pthread_mutex_lock(&w->lock);
	intake_snapshot(w->intake, s);
	if (wait && (s->ended || intake_unplaced(w->intake) || w->intake->rows >= WAIT_ROWS)) {
		wait_written(w);
	} else if (w->idle && intake_due(w->intake)) {
		pthread_cond_signal(&w->asked);
	}
	pthread_mutex_unlock(&w->lock);
}

int store_writer_read(struct store_writer *w, int (*fn)(void *ctx, struct store *st), void *ctx)
{
	int err;

	pthread_mutex_lock(&w->lock);
	wait_written(w);
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_lock(&w->file);
	err = w->store ? fn(ctx, w->store) : w->trouble ? w->trouble : -EIO;
	pthread_mutex_unlock(&w->file);
	return err;
}

void store_writer_stats(struct store_writer *w, struct store_writer_stats *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->stats;
	ret->waiting = w->intake->rows;
	ret->lost_ranks = w->intake->lost.ranks;
	ret->lost_notes = w->intake->lost.notes;
	ret->lost_facts = w->intake->lost.facts;
	ret->merged = w->intake->lost.merged;
	pthread_mutex_unlock(&w->lock);
}
