/* SPDX-License-Identifier: Apache-2.0 */
/* phase.c - from signals to spans.
 *
 * Evaluation: a loop takes the same number of batches between two signs of training, step after step; where
 * it takes two more, it did not train on the first ones. One more is an epoch's end: the loader says that
 * there is no batch.
 *
 * Checkpoints: torch.distributed.checkpoint writes one file per tensor, Hugging Face four per checkpoint:
 * writers less than a second apart on one thread, without a sign of training between them, are one.
 * A reader has no end marker: what the thread does next ends it, if that is soon.
 */
#include "userspace/model/phase_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVAL_MORE 2 /* than usual */

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

/* ---- threads ------------------------------------------------------------------------------------- */

const struct phase_thread *phase_thread_find(const struct phase_finder *pf, uint32_t tid)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		if (pf->threads[i].tid == tid)
			return &pf->threads[i];
	}
	return NULL;
}

static void burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b, bool closed);

static struct phase_thread *thread_new(struct phase_finder *pf)
{
	uint32_t n = pf->nthreads < PHASE_THREADS ? pf->nthreads + 1 : PHASE_THREADS;
	struct phase_thread *t = grow_items(pf->threads, &pf->threads_cap, n, PHASE_THREADS, sizeof(*t));

	if (!t)
		return NULL;
	pf->threads = t;
	if (pf->nthreads < n)
		return &pf->threads[pf->nthreads++];
	for (uint32_t i = 1; i < PHASE_THREADS; i++) {
		if (pf->threads[i].seen_ns < t->seen_ns)
			t = &pf->threads[i];
	}
	burst_close(pf, t, &t->save, !t->save.open);
	burst_close(pf, t, &t->restore, false);
	*t = (struct phase_thread){0};
	return t;
}

struct phase_thread *phase_thread_of(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t;

	if (!pf->nthreads || pf->threads[pf->last].tid != s->tid) {
		t = (struct phase_thread *)phase_thread_find(pf, s->tid);
		t = t ? t : thread_new(pf);
		if (!t)
			return NULL;
		t->tid = s->tid;
		pf->last = (uint32_t)(t - pf->threads);
	}
	t = &pf->threads[pf->last];
	t->seen_ns = s->ts_ns;
	return t;
}

static bool thread_trains(const struct phase_finder *pf, const struct phase_thread *t)
{
	return !pf->trained || t->backward || t->updates;
}

bool phase_trains(const struct phase_finder *pf, uint32_t tid)
{
	const struct phase_thread *t = phase_thread_find(pf, tid);

	return !pf->trained || (t && thread_trains(pf, t));
}

/* ---- marks and breaks ---------------------------------------------------------------------------- */

static int marks_grow(struct phase_finder *pf)
{
	uint32_t cap = pf->cap ? 2 * pf->cap : PHASE_MARKS_MIN;
	struct phase_mark *marks = malloc(cap * sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	for (uint64_t i = pf->first; pf->cap && i < pf->next; i++)
		marks[i % cap] = *phase_mark_at(pf, i);
	free(pf->marks);
	pf->marks = marks;
	pf->cap = cap;
	return 0;
}

static int mark_add(struct phase_finder *pf, enum mark_kind kind, const struct signal *s)
{
	if (pf->next - pf->first == pf->cap) {
		bool needed = !pf->cap || phase_mark_at(pf, pf->first)->end_ns >= pf->stepped_ns;

		if (needed && pf->cap < PHASE_MARKS && marks_grow(pf))
			return -ENOMEM;
		if (pf->next - pf->first == pf->cap)
			pf->first++;
	}
	*phase_mark_at(pf, pf->next++) = (struct phase_mark){s->begin_ns, s->ts_ns, s->tid, kind};
	pf->seen |= 1u << kind;
	return 0;
}

static void break_add(struct phase_finder *pf, const struct span *s, bool estimated)
{
	struct phase_break *breaks;

	breaks = grow_items(pf->breaks, &pf->breaks_cap,
			    pf->nbreaks < PHASE_BREAKS ? pf->nbreaks + 1 : PHASE_BREAKS, PHASE_BREAKS,
			    sizeof(*breaks));
	if (!breaks) {
		pf->error = -ENOMEM;
		return;
	}
	pf->breaks = breaks;
	if (pf->nbreaks == PHASE_BREAKS)
		memmove(pf->breaks, pf->breaks + 1, --pf->nbreaks * sizeof(*pf->breaks));
	pf->breaks[pf->nbreaks++] = (struct phase_break){s->begin_ns, s->end_ns, s->tid, estimated};
}

void phase_break(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	struct span s = {.tid = tid, .begin_ns = begin_ns, .end_ns = end_ns};

	break_add(pf, &s, false);
}

/* ---- checkpoints --------------------------------------------------------------------------------- */

static void burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b, bool closed)
{
	struct span s = {
		.kind = b == &t->save ? SPAN_SAVE : SPAN_RESTORE,
		.tid = t->tid,
		.begin_ns = b->begin_ns,
		.end_ns = b->end_ns,
		.closed = closed,
		.files = b->seen ? b->seen : b->files,
		.seen = b->seen,
		.bytes = b->bytes,
		.file = b->file,
	};

	if (!b->active)
		return;
	b->active = false;
	pf->bursts--;
	s.async = s.kind == SPAN_SAVE && !thread_trains(pf, t);
	if (s.kind == SPAN_SAVE)
		t->saved_ns = s.end_ns;
	if (!s.async)
		break_add(pf, &s, false);
	/* An evaluation that follows begins here, not at the step before. */
	if (t->updated_ns && s.end_ns > t->updated_ns)
		t->updated_ns = s.end_ns;
	pf->emit(pf->ctx, &s);
}

void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b, const struct signal *s)
{
	if (b->active && s->begin_ns > b->end_ns && s->begin_ns - b->end_ns >= BURST_NS)
		burst_close(pf, t, b, b == &t->save && !b->open);
	if (!b->active) {
		*b = (struct burst){.active = true, .begin_ns = s->begin_ns, .end_ns = s->begin_ns};
		pf->bursts++;
	}
	b->files++;
	if (!*b->file)
		strncpy(b->file, s->text, sizeof(b->file) - 1);
	if (s->ts_ns > b->end_ns)
		b->end_ns = s->ts_ns;
}

static void feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (s->kind == SIGNAL_SAVE_BEGIN) {
		phase_burst(pf, t, &t->save, s);
		t->save.open = true;
		return;
	}
	if (!t->save.active)
		phase_burst(pf, t, &t->save, s);
	t->save.open = false;
	t->save.end_ns = s->ts_ns;
}

/* Data sets are read with the same reader: what is opened while a batch is fetched is no checkpoint. */
static void feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (!t->fetching)
		phase_burst(pf, t, &t->restore, s);
}

static bool restore_ended(const struct phase_thread *t)
{
	return t->restore.seen && !t->restore.open;
}

static void restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	uint64_t at_ns = s->begin_ns >= t->restore.end_ns ? s->begin_ns : s->ts_ns;
	bool soon = !t->restore.open && at_ns - t->restore.end_ns < BURST_NS;

	if (soon && !t->restore.seen) /* where it closed its files is known better */
		t->restore.end_ns = at_ns;
	burst_close(pf, t, &t->restore, soon || restore_ended(t));
}

/* Time passed, or the process ended. */
static void bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all)
{
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (all || (!t->save.open && now_ns - t->save.end_ns >= BURST_NS))
			burst_close(pf, t, &t->save, !t->save.open);
		if (all || (!t->restore.open && now_ns - t->restore.end_ns >= BURST_NS))
			burst_close(pf, t, &t->restore, restore_ended(t));
	}
}

/* ---- batches and evaluations --------------------------------------------------------------------- */

/* Lower median: one evaluation among few gaps must not become the rule. */
static uint32_t usual_fetches(const struct phase_thread *t)
{
	uint32_t a[PHASE_FETCHES] = {0}, n = t->gaps < PHASE_FETCHES ? t->gaps : PHASE_FETCHES;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = i;

		for (; j && a[j - 1] > t->usual[i]; j--)
			a[j] = a[j - 1];
		a[j] = t->usual[i];
	}
	return n ? a[(n - 1) / 2] : 0;
}

static bool fetches_many(const struct phase_thread *t)
{
	return t->gaps && t->fetches >= EVAL_MORE && t->fetches >= usual_fetches(t) + EVAL_MORE;
}

static void eval_tell(struct phase_finder *pf, const struct phase_thread *t, uint64_t end_ns)
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
	break_add(pf, &s, true);
	pf->emit(pf->ctx, &s);
}

/* end_ns: where the batch that is trained on was asked for. */
static void gap_judge(struct phase_finder *pf, struct phase_thread *t, uint64_t end_ns)
{
	bool many = fetches_many(t);

	t->usual[t->gaps++ % PHASE_FETCHES] = t->fetches;
	t->fetches = 0;
	if (many)
		eval_tell(pf, t, end_ns);
}

/* A sign of training on this thread: what came before it is over. */
static void thread_training(struct phase_finder *pf, struct phase_thread *t)
{
	if (t->save.active)
		burst_close(pf, t, &t->save, !t->save.open);
	if (t->fetches)
		gap_judge(pf, t, t->fetch_ns);
}

static void feed_fetch_begin(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (t->save.active)
		burst_close(pf, t, &t->save, !t->save.open);
	if (!t->fetches)
		t->gap_ns = t->updated_ns ? t->updated_ns : s->ts_ns;
	t->fetching = true;
	t->fetch_ns = s->ts_ns;
}

static int feed_fetch(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
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
	if (!thread_trains(pf, t))
		return 0;
	pf->emit(pf->ctx, &span);
	return mark_add(pf, MARK_FETCH, s);
}

/* No training follows: an evaluation after the last step. */
static void gaps_end(struct phase_finder *pf)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (t->fetches && (t->backward || t->updates))
			gap_judge(pf, t, t->fetched_ns);
	}
}

/* Nobody watched. What went on until then is told as far as it was seen; batches are counted anew, as how
 * many were trained on meanwhile is not known. */
static int feed_unwatched(struct phase_finder *pf, const struct signal *s)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (t->save.active && t->save.open && s->begin_ns > t->save.end_ns)
			t->save.end_ns = s->begin_ns;
		if (fetches_many(t))
			eval_tell(pf, t, s->begin_ns);
		t->fetches = 0;
		t->updated_ns = 0;
	}
	return mark_add(pf, MARK_GAP, s);
}

/* ---- signals ------------------------------------------------------------------------------------- */

static int feed_thread(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	switch (s->kind) {
	case SIGNAL_FETCH_BEGIN:
		feed_fetch_begin(pf, t, s);
		return 0;
	case SIGNAL_FETCH:
		return feed_fetch(pf, t, s);
	case SIGNAL_BACKWARD:
		if (!s->outer)
			return 0;
		thread_training(pf, t);
		pf->trained = t->backward = true;
		t->updated_ns = 0;
		t->trained_ns = s->ts_ns;
		return mark_add(pf, MARK_BACKWARD, s);
	case SIGNAL_UPDATE_BEGIN:
		thread_training(pf, t);
		return 0;
	case SIGNAL_UPDATE:
		if (s->depth)
			return 0;
		pf->trained = t->updates = true;
		t->updated_ns = t->trained_ns = s->ts_ns;
		return mark_add(pf, MARK_UPDATE, s);
	case SIGNAL_ZERO_GRAD_BEGIN:
		thread_training(pf, t);
		return 0;
	case SIGNAL_ZERO_GRAD:
		return mark_add(pf, MARK_ZERO_GRAD, s);
	case SIGNAL_SYNC:
		return mark_add(pf, MARK_SYNC, s);
	case SIGNAL_SAVE_BEGIN:
	case SIGNAL_SAVE:
		feed_save(pf, t, s);
		return 0;
	case SIGNAL_RESTORE:
		feed_restore(pf, t, s);
		return 0;
	default:
		return 0;
	}
}

static int feed_signal(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t;

	switch (s->kind) {
	case SIGNAL_TICK:
	case SIGNAL_EXIT:
		bursts_expire(pf, s->ts_ns, s->kind == SIGNAL_EXIT);
		if (s->kind == SIGNAL_EXIT)
			gaps_end(pf);
		return 0;
	case SIGNAL_GAP:
		return feed_unwatched(pf, s);
	case SIGNAL_LOSS:
	case SIGNAL_LAUNCH: /* sampled: not when it happened */
		return 0;
	default:
		break;
	}
	t = phase_thread_of(pf, s);
	if (!t)
		return -ENOMEM;
	if (t->restore.active && s->kind != SIGNAL_RESTORE)
		restore_end(pf, t, s);
	return feed_thread(pf, t, s);
}

int phase_feed(struct phase_finder *pf, const struct signal *s)
{
	int err = feed_signal(pf, s);

	err = err ? err : pf->error;
	pf->error = 0;
	return err;
}
