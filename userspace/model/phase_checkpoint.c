/* SPDX-License-Identifier: Apache-2.0 */
/* phase_checkpoint.c - files of one checkpoint.
 *
 * torch.distributed.checkpoint writes one file per tensor, Hugging Face four per checkpoint:
 * writers less than a second apart on one thread, without a sign of training between them, are one.
 * A reader has no end marker: what the thread does next ends it, if that is soon.
 */
#include <string.h>

#include "userspace/model/phase_internal.h"

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
	/* Where nothing but programs tells of training, it went on if steps ended meanwhile. */
	s.async = s.kind == SPAN_SAVE &&
		  (pf->trained ? !phase_thread_trains(pf, t) : b->ran_ns && b->ran_ns < b->end_ns);
	if (s.kind == SPAN_SAVE)
		t->saved_ns = s.end_ns;
	if (!s.async)
		phase_break_add(pf, &s, false);
	/* An evaluation that follows begins here, not at the step before. */
	if (t->updated_ns && s.end_ns > t->updated_ns)
		t->updated_ns = s.end_ns;
	pf->emit(pf->ctx, &s);
}

void phase_burst(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		 const struct signal *s)
{
	if (b->active && s->begin_ns > b->end_ns && s->begin_ns - b->end_ns >= BURST_NS)
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

void phase_feed_save(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
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

/* Data sets are read with the same reader: what is opened while a batch is fetched is no
 * checkpoint. */
void phase_feed_restore(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	if (!t->fetching)
		phase_burst(pf, t, &t->restore, s);
}

static bool restore_ended(const struct phase_thread *t)
{
	return t->restore.seen && !t->restore.open;
}

void phase_restore_end(struct phase_finder *pf, struct phase_thread *t, const struct signal *s)
{
	uint64_t at_ns = s->begin_ns >= t->restore.end_ns ? s->begin_ns : s->ts_ns;
	bool soon = !t->restore.open && at_ns - t->restore.end_ns < BURST_NS;

	if (soon && !t->restore.seen) /* where it closed its files is known better */
		t->restore.end_ns = at_ns;
	phase_burst_close(pf, t, &t->restore, soon || restore_ended(t));
}

/* Time passed, or the process ended. */
void phase_bursts_expire(struct phase_finder *pf, uint64_t now_ns, bool all)
{
	for (uint32_t i = 0; pf->bursts && i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (all || (!t->save.open && now_ns - t->save.end_ns >= BURST_NS))
			phase_burst_close(pf, t, &t->save, !t->save.open);
		if (all || (!t->restore.open && now_ns - t->restore.end_ns >= BURST_NS))
			phase_burst_close(pf, t, &t->restore, restore_ended(t));
	}
}
