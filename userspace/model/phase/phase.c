/* SPDX-License-Identifier: Apache-2.0 */
/* phase.c - finds batches, evaluations and checkpoints in the signals of a process, and reports
 * each as a span. A training loop loads the same number of batches between two signs of training.
 * If it loads at least two more, the first ones were an evaluation. One more is the end of an
 * epoch, when the loader returns no batch; but if code ran without gradients in between, it is an
 * evaluation of one batch. */
#include "userspace/model/phase/phase_private.h"

#include <stdlib.h>

#include "userspace/base/number.h"

bool phase_range_compiles(const char *text)
{
	return strstr(text, "(dynamo_timed)");
}

#define EVAL_MORE 2 /* at least this many batches more than usual are an evaluation */
/* A resumed job skips batches that it trained on before. Extra batches count as skipped if at least
 * this percentage of their time was spent loading, otherwise as an evaluation. */
#define SKIP_SHARE 90
/* A process that loaded this many batches without any training is not expected to train. */
#define SERVES 8

struct phase_finder *phase_new(span_fn *emit, void *ctx)
{
	struct phase_finder *pf = calloc(1, sizeof(*pf));

	if (!pf)
		return NULL;
	pf->emit = emit;
	pf->ctx = ctx;
	return pf;
}

void phase_free(struct phase_finder *pf)
{
	if (!pf)
		return;
	free(pf->marks);
	free(pf->threads);
	free(pf->breaks);
	free(pf);
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct phase_thread *phase_thread_new(struct phase_finder *pf)
{
	uint32_t n = pf->nthreads < PHASE_THREADS ? pf->nthreads + 1 : PHASE_THREADS;
	struct phase_thread *t = grow_items(pf->threads, &pf->threads_cap, n, PHASE_THREADS,
					    sizeof(*t));

	if (!t)
		return NULL;
	pf->threads = t;
	if (pf->nthreads < n)
		return &pf->threads[pf->nthreads++];
	for (uint32_t i = 1; i < PHASE_THREADS; i++) {
		if (pf->threads[i].seen_ns < t->seen_ns)
			t = &pf->threads[i];
	}
	phase_burst_close(pf, t, &t->save, !t->save.open);
	phase_burst_close(pf, t, &t->restore, false);
	*t = (struct phase_thread){0};
	return t;
}

struct phase_thread *phase_thread_of(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t;

	if (!pf->nthreads || pf->threads[pf->last].tid != s->tid) {
		t = (struct phase_thread *)phase_thread_find(pf, s->tid);
		t = t ? t : phase_thread_new(pf);
		if (!t)
			return NULL;
		t->tid = s->tid;
		pf->last = (uint32_t)(t - pf->threads);
	}
	t = &pf->threads[pf->last];
	t->seen_ns = s->ts_ns;
	return t;
}

bool phase_trains(const struct phase_finder *pf, uint32_t tid)
{
	const struct phase_thread *t = phase_thread_find(pf, tid);

	return !pf->trained || (t && phase_thread_trains(pf, t));
}

/* ---- marks and breaks ------------------------------------------------------------------------ */

static int phase_mark_add(struct phase_finder *pf, enum mark_kind kind, const struct signal *s)
{
	if (pf->next - pf->first == pf->cap) {
		/* Drop the oldest mark only if the next one is not needed either. The ring then
		 * begins with a mark that is not needed, which shows that no needed mark was
		 * dropped. */
		bool needed = !pf->cap ||
			      phase_mark_at(pf, pf->first + 1)->end_ns >= pf->stepped_ns;

		if (needed && pf->cap < PHASE_MARKS &&
		    grow_ring(pf->marks, pf->first, pf->next, pf->cap, PHASE_MARKS_MIN))
			return -ENOMEM;
		if (pf->next - pf->first == pf->cap)
			pf->first++;
	}
	*phase_mark_at(pf, pf->next++) = (struct phase_mark){s->begin_ns, s->ts_ns, s->tid, kind};
	pf->seen |= 1u << kind;
	return 0;
}

/* Adds a mark for a blocking call or a compilation. Blocking marks within it become MARK_INNER, so
 * that their time counts once. */
static int phase_mark_blocked(struct phase_finder *pf, enum mark_kind kind, const struct signal *s)
{
	uint64_t scanned = 0;

	for (uint64_t i = pf->next; i > pf->first && scanned < PHASE_INNER; i--, scanned++) {
		struct phase_mark *m = phase_mark_at(pf, i - 1);

		if (m->end_ns <= s->begin_ns)
			break;
		if (m->tid != s->tid || m->begin_ns < s->begin_ns || !mark_blocks(m->kind))
			continue;
		m->kind = MARK_INNER;
		if (i == pf->next)
			pf->next--;
	}
	return phase_mark_add(pf, kind, s);
}

static int phase_feed_copy(struct phase_finder *pf, const struct signal *s)
{
	enum mark_kind kind = s->ident == COPY_OUT ? MARK_COPY_OUT : MARK_COPY;

	pf->seen |= 1u << kind;
	return s->ts_ns - s->begin_ns < PHASE_BLOCKED_NS ? 0 : phase_mark_blocked(pf, kind, s);
}

static int phase_feed_collective(struct phase_finder *pf, const struct signal *s)
{
	pf->seen |= 1u << MARK_COLLECTIVE;
	return s->ts_ns - s->begin_ns < PHASE_BLOCKED_NS
		       ? 0
		       : phase_mark_blocked(pf, MARK_COLLECTIVE, s);
}

void phase_break(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	struct span s = {.tid = tid, .begin_ns = begin_ns, .end_ns = end_ns};

	phase_break_add(pf, &s, false);
}

/* ---- batches and evaluations ----------------------------------------------------------------- */

/* Returns the usual number of batches between signs of training: the lower median, so that one
 * evaluation among a few numbers is not the result. */
static uint32_t phase_usual_fetches(const struct phase_thread *t)
{
	uint32_t a[PHASE_FETCHES] = {0}, n = smaller_of(t->gaps, PHASE_FETCHES);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = i;

		for (; j && a[j - 1] > t->usual[i]; j--)
			a[j] = a[j - 1];
		a[j] = t->usual[i];
	}
	return n ? a[(n - 1) / 2] : 0;
}

/* Returns true if the thread loaded at least EVAL_MORE batches more than usual since the last
 * training, or the usual number of batches after code without gradients ran. */
static bool phase_fetches_many(const struct phase_thread *t)
{
	uint32_t usual = phase_usual_fetches(t);

	if (!t->gaps || t->fetches < EVAL_MORE)
		return false;
	return t->fetches >= usual + EVAL_MORE ||
	       (t->quiet && usual && t->quiet + usual <= t->fetches);
}

static void phase_eval_report(struct phase_finder *pf, const struct phase_thread *t,
			      uint64_t end_ns)
{
	struct span s = {
		.kind = SPAN_EVAL,
		.tid = t->tid,
		.begin_ns = t->gap_ns,
		.end_ns = end_ns,
		.closed = true,
		.file = "",
	};

	if (s.end_ns <= s.begin_ns)
		return;
	phase_break_add(pf, &s, true);
	pf->emit(pf->ctx, &s);
}

void phase_evaluation(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	const struct phase_thread t = {.tid = tid, .gap_ns = begin_ns};

	phase_eval_report(pf, &t, end_ns);
}

static uint64_t phase_earlier_ns(uint64_t a_ns, uint64_t b_ns)
{
	return !a_ns || (b_ns && b_ns < a_ns) ? b_ns : a_ns;
}

/* Returns the end of the evaluation: the start of the first checkpoint after its last batch, or of
 * the first named range after it, or end_ns, whichever is earliest. Ranges that also followed
 * earlier batches are part of the evaluation, and do not end it. */
static uint64_t phase_eval_end_ns(const struct phase_thread *t, uint64_t end_ns)
{
	uint64_t ns = phase_earlier_ns(t->before.save_ns, t->ranged <= 1 ? t->before.range_ns : 0);

	return ns && ns < end_ns ? ns : end_ns;
}

static void phase_gap_anew(struct phase_thread *t)
{
	t->fetches = t->ranged = t->quiet = 0;
	t->loading_ns = 0;
	t->after = t->before = (struct phase_after){0};
}

static void phase_thread_after(struct phase_thread *t, uint64_t *first_ns, uint64_t begin_ns)
{
	if (t->fetches && !t->fetching && begin_ns >= t->fetched_ns)
		*first_ns = phase_earlier_ns(*first_ns, begin_ns);
}

static void phase_thread_ranged(struct phase_thread *t, uint64_t begin_ns)
{
	bool before = t->after.range_ns;

	phase_thread_after(t, &t->after.range_ns, begin_ns);
	t->ranged += !before && t->after.range_ns;
}

/* Checks the batches loaded before the first sign of training. If they are many more than those
 * before the second sign, they were an evaluation, or batches that a resumed job skipped. */
static void phase_first_judge(struct phase_finder *pf, const struct phase_thread *t)
{
	const struct phase_first *f = &t->first;
	const struct phase_thread at = {.tid = t->tid, .gap_ns = f->begin_ns};
	struct span s = {.tid = t->tid, .begin_ns = f->begin_ns, .end_ns = f->end_ns};

	bool one = f->quiet && f->quiet + t->fetches <= f->fetches;

	if ((f->fetches < t->fetches + EVAL_MORE && !one) || f->end_ns <= f->begin_ns)
		return;
	if (100 * f->loading_ns >= SKIP_SHARE * (f->end_ns - f->begin_ns))
		phase_break_add(pf, &s, true);
	else
		phase_eval_report(pf, &at, f->end_ns);
}

/* Handles the end of a series of batches without training, and reports an evaluation if they are
 * many. end_ns: when the batch that is trained on was requested. */
static void phase_gap_judge(struct phase_finder *pf, struct phase_thread *t, uint64_t end_ns)
{
	bool many = phase_fetches_many(t);

	if (!t->gaps && t->fetches >= EVAL_MORE)
		t->first = (struct phase_first){t->gap_ns, phase_eval_end_ns(t, end_ns),
						t->loading_ns - t->loaded_ns, t->fetches, t->quiet};
	else if (t->gaps == 1 && t->first.fetches)
		phase_first_judge(pf, t);
	t->usual[t->gaps++ % PHASE_FETCHES] = t->fetches;
	if (many)
		phase_eval_report(pf, t, phase_eval_end_ns(t, end_ns));
	phase_gap_anew(t);
}

/* Handles a sign of training on this thread: it ends the checkpoint that the thread was saving, and
 * the series of batches without training. */
static void phase_thread_training(struct phase_finder *pf, struct phase_thread *t,
				  const struct signal *s)
{
	phase_save_over(pf, t);
	phase_works(pf, t, s->ts_ns);
	if (t->fetches)
		phase_gap_judge(pf, t, t->fetch_ns);
}

static void phase_feed_fetch_begin(struct phase_finder *pf, struct phase_thread *t,
				   const struct signal *s)
{
	phase_save_over(pf, t);
	phase_works(pf, t, s->ts_ns);
	if (!t->fetches)
		t->gap_ns = t->updated_ns ? t->updated_ns : s->ts_ns;
	t->fetching = true;
	t->fetch_ns = s->ts_ns;
	t->before = t->after;
	t->after = (struct phase_after){0};
}

static int phase_feed_fetch(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	struct span span = {
		.kind = SPAN_FETCH,
		.tid = t->tid,
		.begin_ns = s->begin_ns,
		.end_ns = s->ts_ns,
		.closed = true,
		.file = "",
	};

	t->fetching = false;
	t->fetch_ns = s->begin_ns;
	t->fetched_ns = s->ts_ns;
	t->fetches++;
	t->loaded_ns = s->ts_ns - s->begin_ns;
	t->loading_ns += t->loaded_ns;
	if (!phase_thread_trains(pf, t))
		return 0;
	pf->emit(pf->ctx, &span);
	return phase_mark_add(pf, MARK_FETCH, s);
}

/* Ends the series of batches of all threads at the end of the process. No training follows, so the
 * last batches may be an evaluation. */
static void phase_gaps_end(struct phase_finder *pf)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (!t->fetches || !(t->backward || t->updates))
			continue;
		/* No training follows the last batch, so it belongs to the evaluation too. */
		t->before = (struct phase_after){0};
		if (t->quiet && !phase_fetches_many(t))
			phase_eval_report(pf, t, t->quiet_ns);
		phase_gap_judge(pf, t, t->fetched_ns);
	}
}

/* Handles a gap in the observation: reports spans in progress as far as they were seen. The count
 * of batches restarts at 0, because some batches may have been used for training during the gap. */
static int phase_feed_unwatched(struct phase_finder *pf, const struct signal *s)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (t->save.active && t->save.open && s->begin_ns > t->save.end_ns)
			t->save.end_ns = s->begin_ns;
		if (phase_fetches_many(t))
			phase_eval_report(pf, t, s->begin_ns);
		phase_gap_anew(t);
		t->updated_ns = 0;
	}
	return phase_mark_add(pf, MARK_GAP, s);
}

bool phase_untrained(const struct phase_finder *pf, uint64_t *ret_since_ns)
{
	for (uint32_t i = 0; i < pf->nthreads && !pf->trained; i++) {
		if (pf->threads[i].fetches < SERVES)
			continue;
		*ret_since_ns = pf->threads[i].gap_ns;
		return true;
	}
	return false;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int phase_feed_thread(struct phase_finder *pf, struct phase_thread *t,
			     const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_FETCH_BEGIN:
		phase_feed_fetch_begin(pf, t, s);
		return 0;
	case SIGNAL_FETCH:
		return phase_feed_fetch(pf, t, s);
	case SIGNAL_BACKWARD:
		if (!s->outer)
			return 0;
		phase_thread_training(pf, t, s);
		pf->trained = t->backward = true;
		t->updated_ns = 0;
		t->trained_ns = s->ts_ns;
		return phase_mark_add(pf, MARK_BACKWARD, s);
	case SIGNAL_UPDATE_BEGIN:
		phase_thread_training(pf, t, s);
		return 0;
	case SIGNAL_UPDATE:
		if (s->depth)
			return 0;
		pf->trained = t->updates = true;
		t->updated_ns = t->trained_ns = t->idle_ns = s->ts_ns;
		return phase_mark_add(pf, MARK_UPDATE, s);
	case SIGNAL_ZERO_GRAD_BEGIN:
		phase_thread_training(pf, t, s);
		return 0;
	case SIGNAL_ZERO_GRAD:
		return phase_mark_add(pf, MARK_ZERO_GRAD, s);
	case SIGNAL_GRAD_ON:
		if (!t->fetches || t->fetching)
			return 0;
		t->quiet = t->quiet ? t->quiet : t->fetches;
		t->quiet_ns = s->ts_ns;
		return 0;
	case SIGNAL_SYNC:
		return phase_mark_blocked(pf, MARK_SYNC, s);
	case SIGNAL_COLLECTIVE:
		return phase_feed_collective(pf, s);
	case SIGNAL_COMPILE:
		return phase_mark_blocked(pf, MARK_COMPILE, s);
	case SIGNAL_RANGE:
		if (phase_range_compiles(s->text))
			return phase_mark_blocked(pf, MARK_COMPILE, s);
		phase_thread_ranged(t, s->begin_ns);
		return 0;
	case SIGNAL_SAVE_BEGIN:
	case SIGNAL_SAVE:
		phase_thread_after(t, &t->after.save_ns,
				   s->kind == SIGNAL_SAVE ? s->begin_ns : s->ts_ns);
		phase_feed_save(pf, t, s);
		return 0;
	case SIGNAL_RESTORE:
		phase_feed_restore(pf, t, s);
		return 0;
	/* a program that runs while a file is being written may gather its data */
	case SIGNAL_EXECUTE:
		if (!t->save.open)
			phase_save_over(pf, t);
		phase_run(pf, t, s);
		return 0;
	case SIGNAL_SAVE_CALL:
		phase_feed_save_call(pf, t, s);
		return 0;
	default:
		return 0;
	}
}

static int phase_feed_signal(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t;

	switch (s->kind) {
	case SIGNAL_TICK:
	case SIGNAL_EXIT:
		phase_bursts_expire(pf, s->ts_ns, s->kind == SIGNAL_EXIT);
		if (s->kind == SIGNAL_EXIT)
			phase_gaps_end(pf);
		return 0;
	case SIGNAL_GAP:
		return phase_feed_unwatched(pf, s);
	case SIGNAL_LOSS:
	/* the times of launches are not exact, because only their number is recorded */
	case SIGNAL_LAUNCH:
		return 0;
	/* a copy does not end a checkpoint that is being read: readers copy data to the device */
	case SIGNAL_COPY:
		return phase_feed_copy(pf, s);
	default:
		break;
	}
	t = phase_thread_of(pf, s);
	if (!t)
		return -ENOMEM;
	if (t->restore.active && s->kind != SIGNAL_RESTORE)
		phase_restore_end(pf, t, s);
	return phase_feed_thread(pf, t, s);
}

int phase_feed(struct phase_finder *pf, const struct signal *s)
{
	int err = phase_feed_signal(pf, s);

	err = err ? err : pf->error;
	pf->error = 0;
	return err;
}
