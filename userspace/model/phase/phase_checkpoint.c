/* SPDX-License-Identifier: Apache-2.0 */
/* phase_checkpoint.c - groups files into checkpoints. torch.distributed.checkpoint writes one file
 * for each tensor, Hugging Face four for each checkpoint: files written by one thread less than a
 * second apart, without a sign of training in between, are one checkpoint (a burst). The end of
 * reading is not signalled: the next action of the thread ends it, if that comes soon. */
#include "userspace/model/phase/phase_private.h"
#include "userspace/base/number.h"

void phase_burst_close(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		       bool closed)
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
	if (s.kind == SPAN_RESTORE && pf->files && !b->seen)
		return;
	if (!b->files && !b->seen) /* a save function was called, but wrote nothing */
		return;
	/* If only runs of programs show training, the checkpoint was asynchronous if steps ended
	 * during it. */
	s.async = s.kind == SPAN_SAVE &&
		  (pf->trained ? !phase_thread_trains(pf, t) : b->ran_ns && b->ran_ns < b->end_ns);
	if (s.kind == SPAN_SAVE)
		t->saved_ns = s.end_ns;
	if (!s.async)
		phase_break_add(pf, &s, false);
	/* An evaluation that follows begins after the checkpoint, not at the end of the last
	 * step. */
	if (t->updated_ns && s.end_ns > t->updated_ns)
		t->updated_ns = s.end_ns;
	pf->emit(pf->ctx, &s);
}

/* Returns true while a save function is running that has not opened a file yet: it plans, or waits
 * for other ranks. */
static bool phase_checkpoint_burst_waits(const struct burst *b)
{
	return b->active && b->called && !b->files && !b->seen;
}

void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s)
{
	if (b->active && !phase_checkpoint_burst_waits(b) && s->begin_ns > b->end_ns &&
	    s->begin_ns - b->end_ns >= BURST_NS)
		phase_burst_close(pf, t, b, b == &t->save && !b->open);
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

void phase_save_over(struct phase_finder *pf, struct phase_thread *t)
{
	if (t->save.active)
		phase_burst_close(pf, t, &t->save, !t->save.open);
}

/* Returns the thread to which a file written by t belongs. Threads of a pool write for the thread
 * that called the save function. */
struct phase_thread *phase_save_thread(struct phase_finder *pf, struct phase_thread *t)
{
	if (t->save.active || t->backward || t->updates)
		return t;
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++)
		if (pf->threads[i].save.active && pf->threads[i].save.called)
			return &pf->threads[i];
	return t;
}

void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	t = phase_save_thread(pf, t);
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

bool phase_saves(const struct phase_finder *pf, uint32_t tid)
{
	const struct phase_thread *t = tid ? phase_thread_find(pf, tid) : NULL;

	return t && t->save.active && (t->save.open || t->save.called);
}

static uint32_t phase_checkpoint_ran_hash(uint64_t ran)
{
	return (uint32_t)(ran ^ ran >> 32);
}

/* Returns the usual time (ns) from program `after` (0: an update) to the next sign of work: the
 * median of the last ones. If there are few, or `surely` is set, returns the longest time of all.
 * 0: unknown. */
static uint64_t phase_checkpoint_usual_ns(const struct phase_thread *t, uint64_t after, bool surely)
{
	uint32_t n = smaller_of(t->runs, PHASE_RUNS), alike = 0;
	uint64_t sorted[PHASE_RUNS], most_ns = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t ns = t->between_ns[i];
		uint32_t k = alike;

		most_ns = larger_of(ns, most_ns);
		if (t->between[i] != phase_checkpoint_ran_hash(after))
			continue;
		for (; k && sorted[k - 1] > ns; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = ns;
		alike++;
	}
	if (alike >= PHASE_ALIKE && !surely)
		return sorted[alike / 2];
	return n >= 2 * PHASE_ALIKE ? most_ns : 0;
}

/* Returns a checkpoint that another thread began to write after from_ns; NULL: none. */
static struct burst *phase_checkpoint_burst_begun(struct phase_finder *pf,
						  const struct phase_thread *t, uint64_t from_ns)
{
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++) {
		struct burst *b = &pf->threads[i].save;

		if (&pf->threads[i] != t && b->active && !b->handed && b->begin_ns > from_ns)
			return b;
	}
	return NULL;
}

static void phase_checkpoint_between_add(struct phase_thread *t, uint64_t after, uint64_t ns)
{
	t->between[t->runs % PHASE_RUNS] = phase_checkpoint_ran_hash(after);
	t->between_ns[t->runs++ % PHASE_RUNS] = ns;
}

static void phase_checkpoint_handover_report(struct phase_finder *pf, const struct phase_thread *t,
					     uint64_t begin_ns, uint64_t end_ns, bool cuts)
{
	struct span s = {.kind = SPAN_HANDOVER,
			 .tid = t->tid,
			 .begin_ns = begin_ns,
			 .end_ns = end_ns,
			 .closed = true,
			 .file = ""};

	if (end_ns <= begin_ns)
		return;
	if (cuts)
		phase_break_add(pf, &s, true);
	else
		pf->handed_ns = end_ns;
	pf->emit(pf->ctx, &s);
}

/* Handles a run of a program. If another thread began an asynchronous checkpoint, this thread
 * copied the state to the host first, so its next program runs later than usual. That delay is
 * reported as a handover. It may be part of the checkpoint or of the step, so the step keeps its
 * length and is flagged as estimated. */
void phase_run(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	uint64_t now_ns = s->begin_ns ? s->begin_ns : s->ts_ns;
	uint64_t ns = t->run_ns && now_ns > t->run_ns ? now_ns - t->run_ns : 0, usual, begin_ns;
	struct burst *b = phase_checkpoint_burst_begun(pf, t, t->run_ns);

	if (b) {
		b->handed = true;
		usual = phase_checkpoint_usual_ns(t, t->ran, !b->unit);
		ns = usual && ns > usual ? ns - usual : 0;
		begin_ns = now_ns - ns < b->begin_ns ? now_ns - ns : b->begin_ns;
		phase_checkpoint_handover_report(pf, t, begin_ns, begin_ns + ns, false);
	} else if (ns) {
		phase_checkpoint_between_add(t, t->ran, ns);
	}
	t->run_ns = larger_of(now_ns, t->run_ns);
	t->ran = s->ident;
}

/* Handles the first work of a thread after it may have called an asynchronous save. The time since
 * that call, less the usual time between an update and the next work, is reported as a wait in the
 * call. */
void phase_works(struct phase_finder *pf, struct phase_thread *t, uint64_t now_ns)
{
	uint64_t idle_ns = t->idle_ns, usual, most_ns;

	t->idle_ns = 0;
	if (!t->called_ns) {
		if (idle_ns && now_ns > idle_ns)
			phase_checkpoint_between_add(t, 0, now_ns - idle_ns);
		return;
	}
	usual = phase_checkpoint_usual_ns(t, 0, false);
	if (idle_ns && t->called_ns > idle_ns)
		usual -= t->called_ns - idle_ns < usual ? t->called_ns - idle_ns : usual;
	most_ns = more_than(now_ns, t->called_ns);
	phase_checkpoint_handover_report(pf, t, t->called_ns, now_ns - smaller_of(usual, most_ns),
					 true);
	t->called_ns = 0;
}

/* Call when thread t begins to write an asynchronous checkpoint: the calls with which the training
 * threads requested it have returned by then. Reports the time that each took, up to now_ns. */
static void phase_checkpoint_calls_return(struct phase_finder *pf, const struct phase_thread *t,
					  uint64_t now_ns)
{
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		struct phase_thread *o = &pf->threads[i];

		if (o == t || !o->called_ns)
			continue;
		phase_checkpoint_handover_report(pf, o, o->called_ns, now_ns, true);
		o->called_ns = o->idle_ns = 0;
	}
}

void phase_feed_save_call(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (s->count) {
		if (phase_thread_trains(pf, t))
			t->called_ns = s->ts_ns;
		return;
	}
	phase_checkpoint_calls_return(pf, t, s->ts_ns);
	/* a save function called another save function */
	if (phase_checkpoint_burst_waits(&t->save))
		return;
	phase_save_over(pf, t);
	phase_burst(pf, t, &t->save, s);
	t->save.files = 0;
	t->save.open = t->save.called = true;
}

/* Handles a call of a function that reads a checkpoint. Data sets are read by the same functions: a
 * file that is opened while a batch is fetched is not a checkpoint. */
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (!t->fetching)
		phase_burst(pf, t, &t->restore, s);
}

static bool phase_checkpoint_restore_ended(const struct phase_thread *t)
{
	return t->restore.seen && !t->restore.open;
}

void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	uint64_t at_ns = s->begin_ns >= t->restore.end_ns ? s->begin_ns : s->ts_ns;
	bool soon = !t->restore.open && at_ns - t->restore.end_ns < BURST_NS;

	/* if its files were seen, the time when they were closed is more exact */
	if (soon && !t->restore.seen)
		t->restore.end_ns = at_ns;
	phase_burst_close(pf, t, &t->restore, soon || phase_checkpoint_restore_ended(t));
}

/* Ends checkpoints to which no file was added for a second. all: ends all checkpoints, because the
 * process has ended. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all)
{
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (all || (!t->save.open && now_ns - t->save.end_ns >= BURST_NS))
			phase_burst_close(pf, t, &t->save, !t->save.open);
		if (all || (!t->restore.open && now_ns - t->restore.end_ns >= BURST_NS))
			phase_burst_close(pf, t, &t->restore, phase_checkpoint_restore_ended(t));
	}
}
