/* SPDX-License-Identifier: Apache-2.0 */
/* phase_save.c - the state of the phase finder as bytes. */
#include "userspace/model/phase/phase_private.h"

static void phase_burst_archive(struct archive *a, struct burst *b)
{
	archive_number(a, &b->active);
	archive_number(a, &b->open);
	archive_number(a, &b->called);
	archive_number(a, &b->handed);
	archive_number(a, &b->begin_ns);
	archive_number(a, &b->end_ns);
	archive_number(a, &b->bytes);
	archive_number(a, &b->unit);
	archive_number(a, &b->ran_ns);
	archive_number(a, &b->files);
	archive_number(a, &b->seen);
	archive_text(a, b->file);
}

static void phase_thread_archive(struct archive *a, struct phase_thread *t)
{
	archive_number(a, &t->tid);
	archive_number(a, &t->seen_ns);
	archive_number(a, &t->backward);
	archive_number(a, &t->updates);
	archive_number(a, &t->fetching);
	archive_number(a, &t->fetch_ns);
	archive_number(a, &t->fetched_ns);
	archive_number(a, &t->fetches);
	archive_number(a, &t->ranged);
	archive_number(a, &t->after.range_ns);
	archive_number(a, &t->after.save_ns);
	archive_number(a, &t->before.range_ns);
	archive_number(a, &t->before.save_ns);
	archive_number(a, &t->gap_ns);
	archive_number(a, &t->updated_ns);
	archive_number(a, &t->trained_ns);
	archive_number(a, &t->saved_ns);
	archive_numbers(a, t->usual);
	archive_number(a, &t->gaps);
	archive_number(a, &t->idle_ns);
	archive_number(a, &t->run_ns);
	archive_number(a, &t->ran);
	archive_numbers(a, t->between_ns);
	archive_numbers(a, t->between);
	archive_number(a, &t->runs);
	archive_number(a, &t->called_ns);
	archive_number(a, &t->quiet);
	archive_number(a, &t->quiet_ns);
	archive_number(a, &t->loading_ns);
	archive_number(a, &t->loaded_ns);
	archive_number(a, &t->first.begin_ns);
	archive_number(a, &t->first.end_ns);
	archive_number(a, &t->first.loading_ns);
	archive_number(a, &t->first.fetches);
	archive_number(a, &t->first.quiet);
	phase_burst_archive(a, &t->save);
	phase_burst_archive(a, &t->restore);
}

static void phase_break_archive(struct archive *a, struct phase_break *b)
{
	archive_number(a, &b->begin_ns);
	archive_number(a, &b->end_ns);
	archive_number(a, &b->tid);
	archive_number(a, &b->estimated);
}

/* The size of the ring is part of the state: it determines when a full ring of less than
 * PHASE_MARKS grows or drops marks. */
static void phase_marks_archive(struct archive *a, struct phase_finder *pf)
{
	uint32_t cap = 0, n = (uint32_t)(pf->next - pf->first);

	archive_number(a, &pf->first);
	archive_number(a, &pf->cap);
	archive_count(a, &n, PHASE_MARKS, sizeof(*pf->marks));
	if (archive_reads(a)) {
		for (cap = pf->cap ? PHASE_MARKS_MIN : 0; cap && cap < pf->cap && cap < PHASE_MARKS;
		     cap *= 2)
			;
		archive_require(a, cap == pf->cap && n <= cap && pf->first <= UINT64_MAX / 2);
		pf->marks = cap ? archive_alloc(a, cap, sizeof(*pf->marks)) : NULL;
		pf->cap = pf->marks ? cap : 0;
		pf->next = pf->first + (pf->marks ? n : 0);
	}
	for (uint64_t i = pf->first; i < pf->next; i++) {
		struct phase_mark *m = phase_mark_at(pf, i);

		archive_number(a, &m->begin_ns);
		archive_number(a, &m->end_ns);
		archive_number(a, &m->tid);
		archive_below(a, &m->kind, MARK_KINDS);
	}
}

void phase_archive(struct archive *a, struct phase_finder **at, span_fn *emit, void *ctx)
{
	struct phase_finder *pf = *at = archive_object(a, *at, sizeof(*pf));

	if (!pf)
		return;
	if (archive_reads(a)) {
		pf->emit = emit;
		pf->ctx = ctx;
	}
	archive_count(a, &pf->nthreads, PHASE_THREADS, sizeof(*pf->threads));
	if (archive_reads(a) && pf->nthreads) {
		pf->threads = archive_alloc(a, pf->nthreads, sizeof(*pf->threads));
		pf->threads_cap = pf->nthreads = pf->threads ? pf->nthreads : 0;
	}
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		phase_thread_archive(a, &pf->threads[i]);
		if (archive_reads(a))
			pf->bursts += pf->threads[i].save.active + pf->threads[i].restore.active;
	}
	archive_number(a, &pf->trained);
	archive_number(a, &pf->files);
	archive_number(a, &pf->seen);
	archive_count(a, &pf->nbreaks, PHASE_BREAKS, sizeof(*pf->breaks));
	if (archive_reads(a) && pf->nbreaks) {
		pf->breaks = archive_alloc(a, pf->nbreaks, sizeof(*pf->breaks));
		pf->breaks_cap = pf->nbreaks = pf->breaks ? pf->nbreaks : 0;
	}
	for (uint32_t i = 0; i < pf->nbreaks; i++)
		phase_break_archive(a, &pf->breaks[i]);
	phase_marks_archive(a, pf);
	archive_number(a, &pf->stepped_ns);
	archive_number(a, &pf->handed_ns);
}
