/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - the thread that writes observations to the store. There are two locks. The lock of
 * `thread` protects the intake and is held only for moments. `file` protects the store and is held
 * while the thread waits for the disk. Only the thread takes `file`, except at the start, when the
 * caller reads the session's last fact. */
#include "userspace/store/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/plural.h"
#include "userspace/base/worker.h"
#include "userspace/store/intake.h"
#include "userspace/store/store_private.h"
#include "userspace/store/write.h"

#define WRITER_REOPEN_NS 5000000000ull

struct store_writer {
	struct store_writer_options options;
	char path[PATH_MAX];
	struct worker thread;
	pthread_mutex_t file;
	bool wanted; /* write at once, without waiting for the end of the second */
	bool handed_over;
	/* The thread waits for data to write; false: it waits for the end of a second, or
	 * writes. */
	bool idle;
	/* number of requests to write at once, and of those that were done */
	uint64_t asks, answers;
	struct intake *intake;
	struct write_session session;
	struct store *store; /* NULL: the file could not be opened, which is retried */
	/* A bit for each type of custom events whose name is in this store. */
	uint32_t typed;
	bool known;  /* this store has a row for the session */
	int trouble; /* error of the last transaction; 0: none */
	/* Time of clock_mono_ns() after which waiting for a locked file ends; 0: the default of the
	 * store. */
	_Atomic uint64_t until_ns;
	uint64_t trouble_ns, next_ns, reopen_ns, retain_ns;
	struct store_writer_stats stats;
};

/* ---- one cycle: open the store, find the rows of ranks, write minutes and notes -------------- */

#define RETAIN_NS    600000000000ull
#define PLACE_ROUNDS 8

/* data to write: copied while the lock of `thread` is held, written after it is released */
struct taken {
	struct intake_rank **of; /* for each entry of `ranks`, the original of the copy */
	struct intake_rank *ranks;
	/* the minutes of the first rank, then those of the second...; `count` has the number for
	 * each rank */
	struct intake_minute *minutes;
	uint32_t *count; /* for each rank */
	struct intake_note *notes;
	uint32_t nranks, nminutes, nnotes;
	uint64_t last_fact;
};

/* ---- trouble --------------------------------------------------------------------------------- */

const char *const store_trouble_name[STORE_TROUBLE_COUNT] = {
#define X(name, e) #name,
	STORE_TROUBLES(X)
#undef X
};

static enum store_trouble writer_trouble(int err)
{
	static const int errors[] = {
#define X(name, e) e,
		STORE_TROUBLES(X)
#undef X
	};
	int t = 0;

	while (t < STORE_TROUBLE_other && errors[t] != err)
		t++;
	return (enum store_trouble)t;
}

/* Returns the size of the store's files. Call on the writer's thread only, because a disk that
 * hangs blocks the call. */
static uint64_t writer_files_size(const struct store_writer *w)
{
	char journal[PATH_MAX + 8];
	struct stat is;
	uint64_t bytes = 0;

	snprintf(journal, sizeof(journal), "%s-wal", w->path);
	if (!stat(w->path, &is))
		bytes += (uint64_t)is.st_size;
	if (!stat(journal, &is))
		bytes += (uint64_t)is.st_size;
	return bytes;
}

/* Counts a transaction in the statistics. Call with the lock of `thread` held. */
static void writer_transaction_done(struct store_writer *w)
{
	w->stats.written++;
	w->stats.last_ns = clock_real_ns();
}

/* Logs when an error of writing begins, changes or ends. */
static void writer_report_trouble(struct store_writer *w, int err)
{
	uint64_t bytes = writer_files_size(w);
	char took[16];

	if (err && err != w->trouble)
		log_warn("%s: cannot write: %s; keeping new data in memory and retrying", w->path,
			 store_why(err));
	if (err && !w->trouble)
		w->trouble_ns = clock_mono_ns();
	if (!err && w->trouble)
		log_warn("%s: writing resumed after %s; data kept in memory was written", w->path,
			 clock_duration(took, sizeof(took), clock_mono_ns() - w->trouble_ns));
	w->trouble = err;
	worker_lock(&w->thread);
	w->stats.up = !err;
	w->stats.bytes = bytes;
	if (err)
		w->stats.failed[writer_trouble(err)]++;
	worker_unlock(&w->thread);
}

/* ---- the store ------------------------------------------------------------------------------- */

/* Opens the store. Returns 0 or -errno. */
static int writer_connect(struct store_writer *w)
{
	int err = store_open_until(&w->store, w->path, STORE_WRITE, &w->until_ns);
	char limit[64];

	w->typed = 0;
	err = err ? err : store_types(w->store);
	if (err || !w->options.pages_max)
		return err;
	snprintf(limit, sizeof(limit), "PRAGMA max_page_count = %u", w->options.pages_max);
	return store_exec(w->store, limit);
}

/* Opens the store again. If the file has no row for this session, the file was replaced by another
 * one, and the data of the whole session is written again. */
static int store_reconnect(struct store_writer *w)
{
	int64_t id;
	int err = writer_connect(w);

	if (err)
		return err;
	if (w->known) {
		err = store_number(w->store, &id, "SELECT id FROM sessions WHERE key = ?", "t",
				   w->session.key);
		if (err == -ENOENT) {
			worker_lock(&w->thread);
			intake_again(w->intake);
			worker_unlock(&w->thread);
			w->known = false;
			err = 0;
		}
	}
	return err;
}

static int store_ready(struct store_writer *w)
{
	uint64_t now = clock_mono_ns();
	int err;

	if (w->store && store_moved(w->store)) {
		log_warn("%s: the file was removed or replaced; opening it again", w->path);
		store_close(w->store);
		w->store = NULL;
		w->reopen_ns = 0;
	}
	if (w->store)
		return 0;
	if (now < w->reopen_ns)
		return w->trouble ? w->trouble : -EIO;
	w->reopen_ns = now + WRITER_REOPEN_NS;
	err = store_reconnect(w);
	if (err) {
		store_close(w->store);
		w->store = NULL;
	}
	return err;
}

/* Adds the names of types of custom events to the store, for types that have time. */
static int writer_name_types(struct store_writer *w)
{
	struct type_names names;
	uint32_t typed;
	int err = 0;

	worker_lock(&w->thread);
	names = w->intake->types;
	typed = w->intake->typed & ~w->typed;
	worker_unlock(&w->thread);
	for (uint32_t i = 1; !err && i < LEDGER_TYPES; i++) {
		if (!(typed & 1u << i) || !*names.name[i])
			continue;
		err = store_type(w->store, i, names.name[i]);
		if (!err)
			w->typed |= 1u << i;
	}
	return err;
}

/* ---- one transaction ------------------------------------------------------------------------- */

static int writer_by_start(const void *a, const void *b)
{
	const struct intake_rank *x = *(struct intake_rank *const *)a,
				 *y = *(struct intake_rank *const *)b;

	return (x->about.start_mono_ns > y->about.start_mono_ns) -
	       (x->about.start_mono_ns < y->about.start_mono_ns);
}

/* Collects the ranks whose row in the store is not known, sorted by start: which run a rank belongs
 * to depends on the earlier ranks. */
static uint32_t writer_unplaced(struct store_writer *w, struct intake_rank **ranks,
				struct intake_about *about, struct write_ended *ended,
				uint32_t *ret_ended)
{
	uint32_t n = 0, over = 0;

	worker_lock(&w->thread);
	for (uint32_t i = 0; i < w->intake->count; i++)
		if (w->intake->ranks[i]->seen && !w->intake->ranks[i]->placed)
			ranks[n++] = w->intake->ranks[i];
	qsort(ranks, n, sizeof(*ranks), writer_by_start);
	for (uint32_t i = 0; i < n; i++)
		about[i] = ranks[i]->about;
	for (uint32_t i = 0; n && i < w->intake->count; i++) {
		const struct intake_rank *r = w->intake->ranks[i];

		if (r->placed && r->changed && r->about.ended && !r->about.job)
			ended[over++] = (struct write_ended){r->id, r->about.end_mono_ns};
	}
	worker_unlock(&w->thread);
	*ret_ended = over;
	return n;
}

/* Finds the rows of n ranks, or adds them. ended: nended ranks whose end is not written yet; the
 * array needs space for n more, because several programs of one process may have begun and ended
 * since the last write. */
static int writer_places_write(struct store_writer *w, const struct intake_about *about,
			       struct intake_place *places, uint32_t n, struct write_ended *ended,
			       uint32_t nended)
{
	int64_t session;
	int err = store_exec(w->store, "BEGIN IMMEDIATE");

	if (err)
		return err;
	err = write_session(w->store, &w->session, &session);
	for (uint32_t i = 0; !err && i < n; i++)
		err = about[i].job ? write_former_names(w->store, session, &about[i]) : 0;
	for (uint32_t i = 0; !err && i < n; i++) {
		err = write_place(w->store, session, w->session.boot_id, &about[i], ended, nended,
				  &places[i]);
		if (!err && about[i].ended && !about[i].job)
			ended[nended++] = (struct write_ended){places[i].id, about[i].end_mono_ns};
	}
	return store_commit(w->store, err);
}

static int writer_place_ranks(struct store_writer *w)
{
	struct intake_rank **ranks = calloc(INTAKE_RANKS, sizeof(*ranks));
	struct intake_about *about = calloc(INTAKE_RANKS, sizeof(*about));
	struct write_ended *ended = calloc(INTAKE_RANKS, sizeof(*ended));
	uint32_t over = 0,
		 n = ranks && about && ended ? writer_unplaced(w, ranks, about, ended, &over) : 0;
	struct intake_place *at = n ? calloc(n, sizeof(*at)) : NULL;
	int err = !ranks || !about || !ended || (n && !at) ? -ENOMEM : 0;

	if (!err && n)
		err = writer_places_write(w, about, at, n, ended, over);
	if (!err && n) {
		worker_lock(&w->thread);
		for (uint32_t i = 0; i < n; i++)
			if (ranks[i]->about.job_key ==
			    about[i].job_key) /* else the job was renamed meanwhile */
				intake_place(w->intake, ranks[i], &at[i]);
		writer_transaction_done(w);
		worker_unlock(&w->thread);
		w->known = true;
	}
	free(at);
	free(ended);
	free(about);
	free(ranks);
	return err;
}

static void writer_taken_free(struct taken *k)
{
	free(k->of);
	free(k->ranks);
	free(k->minutes);
	free(k->count);
	free(k->notes);
}

/* Copies all data from before the last snapshot. The rows of all ranks then contain the facts up to
 * the same number. */
static int writer_cycle_take(struct intake *t, struct taken *k)
{
	*k = (struct taken){.last_fact = t->closed};
	k->of = calloc(t->count + 1, sizeof(*k->of));
	k->ranks = malloc((t->count + 1) * sizeof(*k->ranks));
	k->count = calloc(t->count + 1, sizeof(*k->count));
	k->minutes = malloc((t->rows + 1) * sizeof(*k->minutes));
	k->notes = malloc((t->ready + 1) * sizeof(*k->notes));
	if (!k->of || !k->ranks || !k->count || !k->minutes || !k->notes)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		struct intake_rank *r = t->ranks[i];

		if (!r->changed || !r->placed)
			continue;
		for (const struct intake_minute *m = r->oldest; m;
		     m = m->next, k->count[k->nranks]++)
			k->minutes[k->nminutes++] = *m;
		r->taken = r->newest ? r->newest->number : 0;
		r->rebasing = r->rebased;
		r->earlying = r->earlier;
		r->changed = r->rebased = r->earlier = false;
		k->of[k->nranks] = r;
		k->ranks[k->nranks++] = *r;
	}
	k->nnotes = t->ready;
	memcpy(k->notes, t->notes, t->ready * sizeof(*k->notes));
	return 0;
}

static int writer_taken_write(struct store_writer *w, const struct taken *k)
{
	const struct intake_minute *m = k->minutes;
	int64_t session;
	int err = store_exec(w->store, "BEGIN IMMEDIATE");

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < k->nranks; m += k->count[i++])
		err = write_rank(w->store, &k->ranks[i], m, k->count[i]);
	for (uint32_t i = 0; !err && i < k->nnotes; i++)
		if (k->notes[i].rank->id)
			err = write_note(w->store, &k->notes[i], k->notes[i].rank->id);
	err = err ? err : write_session(w->store, &w->session, &session);
	err = err ? err : write_last_fact(w->store, &w->session, k->last_fact);
	return store_commit(w->store, err);
}

static int writer_write_cycle(struct store_writer *w)
{
	struct taken k;
	int err;

	worker_lock(&w->thread);
	if (intake_unplaced(w->intake)) {
		worker_unlock(&w->thread);
		return -EAGAIN;
	}
	err = writer_cycle_take(w->intake, &k);
	worker_unlock(&w->thread);
	if (!err && (k.nranks || k.nnotes))
		err = writer_taken_write(w, &k);
	worker_lock(&w->thread);
	for (uint32_t i = 0; i < k.nranks; i++)
		intake_written(w->intake, k.of[i], !err);
	if (!err) {
		intake_noted(w->intake, k.nnotes);
		if (k.nranks || k.nnotes)
			writer_transaction_done(w);
	}
	intake_forget(w->intake);
	worker_unlock(&w->thread);
	writer_taken_free(&k);
	return err;
}

/* Writes all data from before the last snapshot; every ten minutes, also removes old data. Call
 * with the lock `file` held. On -errno, the data is kept and retried. */
static int writer_cycle(struct store_writer *w)
{
	uint64_t now = clock_mono_ns();
	int err = store_ready(w);

	err = err ? err : writer_name_types(w);
	for (int round = 0; !err && round < PLACE_ROUNDS; round++) {
		err = writer_place_ranks(w);
		err = err ? err : writer_write_cycle(w);
		if (err != -EAGAIN)
			break;
		err = 0;
	}
	if (!err && now >= w->retain_ns && (w->options.keep_ns || w->options.size_bytes)) {
		w->retain_ns = now + RETAIN_NS;
		err = store_retain(w->store, clock_real_ns(), w->options.keep_ns,
				   w->options.size_bytes);
	}
	/* close the damaged file: it is renamed when the store is opened again */
	if (err == -EBADMSG && w->store) {
		store_close(w->store);
		w->store = NULL;
		w->reopen_ns = 0;
	}
	writer_report_trouble(w, err);
	return err;
}

#define PERIOD_NS   1000000000ull
#define CLOSE_TRIES 3
/* Limit of the time (ns) that closing waits for the thread to end. After that the thread is given
 * up, because its disk does not answer. */
#define DEAD_NS 5000000000ull
/* Limit of the time (ns) to wait for a locked file when the store is opened. */
#define OPEN_NS 500000000ull
/* Limit of the time (ns) to wait for a locked file when the store is closed. */
#define CLOSE_NS 500000000ull
/* While more minutes than this are unwritten, a replay waits for the disk. */
#define WAIT_ROWS 64

/* ---- the thread ------------------------------------------------------------------------------ */

static void writer_wait_due(struct store_writer *w)
{
	w->idle = true;
	while (!w->thread.stop && !w->wanted && !intake_due(w->intake))
		worker_wait(&w->thread, WORKER_FOREVER);
	w->idle = false;
	while (!w->thread.stop && !w->wanted && worker_wait(&w->thread, w->next_ns))
		;
}

static void writer_run(void *ctx)
{
	struct store_writer *w = ctx;
	uint64_t answers;
	int tries = 0;
	bool stop;

	do {
		worker_lock(&w->thread);
		writer_wait_due(w);
		stop = w->thread.stop;
		answers = w->asks;
		w->wanted = false;
		worker_unlock(&w->thread);
		pthread_mutex_lock(&w->file);
		if (stop)
			w->reopen_ns = 0;
		if (writer_cycle(w) && stop && ++tries < CLOSE_TRIES)
			stop = false;
		pthread_mutex_unlock(&w->file);
		worker_lock(&w->thread);
		w->answers = answers;
		w->next_ns = clock_mono_ns() + PERIOD_NS;
		worker_wake(&w->thread);
		worker_unlock(&w->thread);
	} while (!stop);
}

static void writer_free(struct store_writer *w)
{
	worker_free(&w->thread);
	store_close(w->store);
	intake_free(w->intake);
	pthread_mutex_destroy(&w->file);
	free(w);
}

int store_writer_open(struct store_writer **ret, const struct store_writer_options *o)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->options = *o;
	snprintf(w->path, sizeof(w->path), "%s", o->path);
	worker_init(&w->thread);
	pthread_mutex_init(&w->file, NULL);
	w->intake = intake_new();
	err = !w->intake ? -ENOMEM : !strcmp(o->path, ":memory:") ? 0 : path_answers(o->path);
	w->until_ns = clock_mono_ns() + OPEN_NS;
	err = err ? err : writer_connect(w);
	w->until_ns = 0;
	w->stats.up = !err;
	if (err && err != -ENOMEM && err != -EMEDIUMTYPE && err != -EPROTO && err != -EUCLEAN &&
	    err != -ETIMEDOUT && (!o->named || err == -EBUSY || err == -ENOSPC || err == -EIO)) {
		store_close(w->store);
		w->store = NULL;
		w->trouble_ns = clock_mono_ns();
		w->reopen_ns = w->trouble_ns + WRITER_REOPEN_NS;
		log_warn("%s: cannot open: %s; keeping data in memory and retrying", w->path,
			 store_why(err));
		w->trouble = err;
		w->stats.failed[writer_trouble(err)]++;
		err = 0;
	} else if (err) {
		log_error("store %s: %s", w->path, store_why(err));
	}
	err = err ? err : worker_start(&w->thread, "store", writer_run, w);
	if (err) {
		writer_free(w);
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
	w->until_ns = clock_mono_ns() + CLOSE_NS;
	worker_stop(&w->thread);
	if (!worker_ended(&w->thread, clock_mono_ns() + DEAD_NS)) {
		log_error("%s: disk does not answer: unwritten data is lost", w->path);
		return -ETIMEDOUT; /* do not free w, which the thread may still use */
	}
	store_writer_stats(w, &lost);
	left = intake_due(w->intake);
	if (left)
		log_error("%s: cannot write: %s; unwritten data is lost", w->path,
			  store_why(w->trouble));
	if (lost.lost_ranks || lost.lost_notes || lost.lost_facts)
		log_warn(
			"%s: too much data to keep in memory until it can be written: lost %llu rank%s, %llu note%s, %llu fact%s",
			w->path, (unsigned long long)lost.lost_ranks, plural(lost.lost_ranks),
			(unsigned long long)lost.lost_notes, plural(lost.lost_notes),
			(unsigned long long)lost.lost_facts, plural(lost.lost_facts));
	if (w->store && w->handed_over)
		store_hand_over(w->store);
	else if (w->store && w->known && !left &&
		 write_session_ended(w->store, &w->session, clock_real_ns()))
		log_warn(
			"%s: cannot record the end of this watch; its jobs count as watched for three more minutes",
			w->path);
	writer_free(w);
	return left ? -EIO : 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

void store_writer_session(struct store_writer *w, const struct gp_session *s,
			  uint64_t start_mono_ns)
{
	struct write_session session;
	int64_t last_fact = 0;

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
		    !store_number(w->store, &last_fact, "SELECT told FROM sessions WHERE key = ?",
				  "t", session.key))
			w->known = true;
		worker_lock(&w->thread);
		w->intake->blind = !w->store;
		w->intake->skip = w->intake->closed = last_fact > 0 ? (uint64_t)last_fact : 0;
		worker_unlock(&w->thread);
	}
	pthread_mutex_unlock(&w->file);
}

uint64_t store_writer_last_written(struct store_writer *w)
{
	uint64_t last_fact;

	worker_lock(&w->thread);
	last_fact = w->intake->skip;
	worker_unlock(&w->thread);
	return last_fact;
}

void store_writer_fact(struct store_writer *w, const struct fact *f)
{
	if (f->type == FACT_START)
		store_writer_session(w, f->start, f->mono_ns);
	worker_lock(&w->thread);
	intake_fact(w->intake, f);
	worker_unlock(&w->thread);
}

/* Waits until all data is written. Call with the lock of `thread` held. */
static void writer_wait_written(struct store_writer *w)
{
	uint64_t ask = ++w->asks;

	w->wanted = true;
	worker_wake(&w->thread);
	while (w->answers < ask)
		worker_wait(&w->thread, WORKER_FOREVER);
}

void store_writer_snapshot(struct store_writer *w, const struct snapshot *s, bool wait)
{
	worker_lock(&w->thread);
	intake_snapshot(w->intake, s);
	if (wait && (s->ended || intake_unplaced(w->intake) || w->intake->rows >= WAIT_ROWS)) {
		writer_wait_written(w);
	} else if (w->idle && intake_due(w->intake)) {
		worker_wake(&w->thread);
	}
	worker_unlock(&w->thread);
}

int store_writer_read(struct store_writer *w, int (*fn)(void *ctx, struct store *st), void *ctx)
{
	int err;

	worker_lock(&w->thread);
	writer_wait_written(w);
	worker_unlock(&w->thread);
	pthread_mutex_lock(&w->file);
	err = w->store ? fn(ctx, w->store) : w->trouble ? w->trouble : -EIO;
	pthread_mutex_unlock(&w->file);
	return err;
}

void store_writer_stats(struct store_writer *w, struct store_writer_stats *ret)
{
	worker_lock(&w->thread);
	*ret = w->stats;
	ret->waiting = w->intake->rows;
	ret->lost_ranks = w->intake->lost.ranks;
	ret->lost_notes = w->intake->lost.notes;
	ret->lost_facts = w->intake->lost.facts;
	ret->merged = w->intake->lost.merged;
	worker_unlock(&w->thread);
}
