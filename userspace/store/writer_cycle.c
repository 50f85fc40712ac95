/* SPDX-License-Identifier: Apache-2.0 */
/* One turn of the thread: the store is there, ranks have a place in it, minutes and notes are
 * written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/store/writer_private.h"

#define RETAIN_NS    600000000000ull
#define PLACE_ROUNDS 8

struct taken {			 /* copied under the lock, written without it */
	struct intake_rank **of; /* the ranks that the copies are of */
	struct intake_rank *ranks;
	struct intake_minute *minutes; /* of each rank, in order */
	uint32_t *count;	       /* of each rank's */
	struct intake_note *notes;
	uint32_t nranks, nminutes, nnotes;
	uint64_t told;
};

/* ---- trouble
 * ----------------------------------------------------------------------------------------- */

const char *const store_trouble_name[STORE_TROUBLE_COUNT] = {
#define X(name, e) #name,
	STORE_TROUBLES(X)
#undef X
};

enum store_trouble writer_trouble(int err)
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

/* On this thread: a disk that does not answer holds up nobody else. */
static uint64_t files_size(const struct store_writer *w)
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

/* Called with the lock held. */
static void transaction_done(struct store_writer *w)
{
	w->stats.written++;
	w->stats.last_ns = clock_real_ns();
}

/* Said when it begins, or is another one, and when it is over. */
static void trouble(struct store_writer *w, int err)
{
	uint64_t bytes = files_size(w);
	char took[16];

	if (err && err != w->trouble)
		log_warn(
			"%s: cannot be written: %s; what comes now is kept in memory, and tried again",
			w->path, store_why(err));
	if (err && !w->trouble)
		w->trouble_ns = clock_mono_ns();
	if (!err && w->trouble)
		log_warn(
			"%s: is written again, after %s; nothing that memory had room for is missing",
			w->path,
			clock_duration(took, sizeof(took), clock_mono_ns() - w->trouble_ns));
	w->trouble = err;
	pthread_mutex_lock(&w->lock);
	w->stats.up = !err;
	w->stats.bytes = bytes;
	if (err)
		w->stats.failed[writer_trouble(err)]++;
	pthread_mutex_unlock(&w->lock);
}

/* ---- the store
 * --------------------------------------------------------------------------------------- */

int writer_connect(struct store_writer *w)
{
	int err = store_open(&w->store, w->path, STORE_WRITE);
	char limit[64];

	w->typed = 0;
	err = err ? err : store_types(w->store);
	if (err || !w->options.pages_max)
		return err;
	snprintf(limit, sizeof(limit), "PRAGMA max_page_count = %u", w->options.pages_max);
	return store_exec(w->store, limit);
}

/* A store without our session is not the one that we wrote: it gets everything again. */
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
			pthread_mutex_lock(&w->lock);
			intake_again(w->intake);
			pthread_mutex_unlock(&w->lock);
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
		log_warn("%s: it was removed or replaced; going on with what is there now",
			 w->path);
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

/* Types of custom events that have time get a name there. */
static int types(struct store_writer *w)
{
	struct type_names names;
	uint32_t typed;
	int err = 0;

	pthread_mutex_lock(&w->lock);
	names = w->intake->types;
	typed = w->intake->typed & ~w->typed;
	pthread_mutex_unlock(&w->lock);
	for (uint32_t i = 1; !err && i < LEDGER_TYPES; i++) {
		if (!(typed & 1u << i) || !*names.name[i])
			continue;
		err = store_type(w->store, i, names.name[i]);
		if (!err)
			w->typed |= 1u << i;
	}
	return err;
}

/* ---- one transaction
 * --------------------------------------------------------------------------------- */

static int finish(struct store *st, int err)
{
	err = err ? err : store_exec(st, "COMMIT");
	if (err && !sqlite3_get_autocommit(st->sql))
		store_exec(st, "ROLLBACK");
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct intake_rank *x = *(struct intake_rank *const *)a,
				 *y = *(struct intake_rank *const *)b;

	return (x->about.start_mono_ns > y->about.start_mono_ns) -
	       (x->about.start_mono_ns < y->about.start_mono_ns);
}

/* Those without a place, oldest first: whose run another one's is hangs on that. */
static uint32_t unplaced(struct store_writer *w, struct intake_rank **ranks,
			 struct intake_about *about, struct write_ended *ended, uint32_t *ret_ended)
{
	uint32_t n = 0, over = 0;

	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->intake->count; i++)
		if (w->intake->ranks[i]->seen && !w->intake->ranks[i]->placed)
			ranks[n++] = w->intake->ranks[i];
	qsort(ranks, n, sizeof(*ranks), by_start);
	for (uint32_t i = 0; i < n; i++)
		about[i] = ranks[i]->about;
	for (uint32_t i = 0; n && i < w->intake->count; i++) {
		const struct intake_rank *r = w->intake->ranks[i];

		if (r->placed && r->changed && r->about.ended && !r->about.job)
			ended[over++] = (struct write_ended){r->id, r->about.end_mono_ns};
	}
	pthread_mutex_unlock(&w->lock);
	*ret_ended = over;
	return n;
}

/* ended has room for all of them too: one that the store has as running may have ended while nobody
 * wrote, and another one begun. */
static int places_write(struct store_writer *w, const struct intake_about *about,
			struct intake_place *places, uint32_t n, struct write_ended *ended,
			uint32_t nended)
{
	int64_t session;
	int err = store_exec(w->store, "BEGIN IMMEDIATE");

	if (err)
		return err;
	err = write_session(w->store, &w->session, &session);
	for (uint32_t i = 0; !err && i < n; i++)
		err = about[i].job ? write_formers(w->store, session, &about[i]) : 0;
	for (uint32_t i = 0; !err && i < n; i++) {
		err = write_place(w->store, session, w->session.boot_id, &about[i], ended, nended,
				  &places[i]);
		if (!err && about[i].ended && !about[i].job)
			ended[nended++] = (struct write_ended){places[i].id, about[i].end_mono_ns};
	}
	return finish(w->store, err);
}

static int places(struct store_writer *w)
{
	struct intake_rank **ranks = calloc(INTAKE_RANKS, sizeof(*ranks));
	struct intake_about *about = calloc(INTAKE_RANKS, sizeof(*about));
	struct write_ended *ended = calloc(INTAKE_RANKS, sizeof(*ended));
	uint32_t over = 0,
		 n = ranks && about && ended ? unplaced(w, ranks, about, ended, &over) : 0;
	struct intake_place *at = n ? calloc(n, sizeof(*at)) : NULL;
	int err = !ranks || !about || !ended || (n && !at) ? -ENOMEM : 0;

	if (!err && n)
		err = places_write(w, about, at, n, ended, over);
	if (!err && n) {
		pthread_mutex_lock(&w->lock);
		for (uint32_t i = 0; i < n; i++)
			if (ranks[i]->about.job_key ==
			    about[i].job_key) /* else it was renamed meanwhile */
				intake_place(w->intake, ranks[i], &at[i]);
		transaction_done(w);
		pthread_mutex_unlock(&w->lock);
		w->known = true;
	}
	free(at);
	free(ended);
	free(about);
	free(ranks);
	return err;
}

static void taken_free(struct taken *k)
{
	free(k->of);
	free(k->ranks);
	free(k->minutes);
	free(k->count);
	free(k->notes);
}

/* Everything before the last snapshot: the number of facts that goes with it stands for all ranks.
 */
static int take(struct intake *t, struct taken *k)
{
	*k = (struct taken){.told = t->closed};
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

static int taken_write(struct store_writer *w, const struct taken *k)
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
	err = err ? err : write_told(w->store, &w->session, k->told);
	return finish(w->store, err);
}

static int minutes(struct store_writer *w)
{
	struct taken k;
	int err;

	pthread_mutex_lock(&w->lock);
	if (intake_unplaced(w->intake)) {
		pthread_mutex_unlock(&w->lock);
		return -EAGAIN;
	}
	err = take(w->intake, &k);
	pthread_mutex_unlock(&w->lock);
	if (!err && (k.nranks || k.nnotes))
		err = taken_write(w, &k);
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < k.nranks; i++)
		intake_written(w->intake, k.of[i], !err);
	if (!err) {
		intake_noted(w->intake, k.nnotes);
		if (k.nranks || k.nnotes)
			transaction_done(w);
	}
	intake_forget(w->intake);
	pthread_mutex_unlock(&w->lock);
	taken_free(&k);
	return err;
}

int writer_cycle(struct store_writer *w)
{
	uint64_t now = clock_mono_ns();
	int err = store_ready(w);

	err = err ? err : types(w);
	for (int round = 0; !err && round < PLACE_ROUNDS; round++) {
		err = places(w);
		err = err ? err : minutes(w);
		if (err != -EAGAIN)
			break;
		err = 0;
	}
	if (!err && now >= w->retain_ns && (w->options.keep_ns || w->options.size_bytes)) {
		w->retain_ns = now + RETAIN_NS;
		err = store_retain(w->store, clock_real_ns(), w->options.keep_ns,
				   w->options.size_bytes);
	}
	if (err == -EBADMSG && w->store) { /* opened anew it is looked at, and set aside */
		store_close(w->store);
		w->store = NULL;
		w->reopen_ns = 0;
	}
	trouble(w, err);
	return err;
}
