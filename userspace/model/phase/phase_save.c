/* SPDX-License-Identifier: Apache-2.0 */
/* phase_save.c - saves and restores the phase finder. */
#include "userspace/model/phase/phase_private.h"

static void phase_burst_archive(struct archive *a, struct burst *b)
{
	archive_fields(a, b, active, open, called, handed, begin_ns, end_ns, bytes, unit, ran_ns,
		       files, seen, file);
}

static void phase_thread_archive(struct archive *a, struct phase_thread *t)
{
	archive_fields(a, t, tid, seen_ns, backward, updates, fetching, fetch_ns, fetched_ns,
		       fetches, ranged, after.range_ns, after.save_ns, before.range_ns,
		       before.save_ns, gap_ns, updated_ns, trained_ns);
	archive_fields(a, t, saved_ns, usual, gaps, idle_ns, run_ns, ran, between_ns, between, runs,
		       called_ns, quiet, quiet_ns, loading_ns, loaded_ns, first.begin_ns,
		       first.end_ns);
	archive_fields(a, t, first.loading_ns, first.fetches, first.quiet);
	phase_burst_archive(a, &t->save);
	phase_burst_archive(a, &t->restore);
}

static void phase_break_archive(struct archive *a, struct phase_break *b)
{
	archive_fields(a, b, begin_ns, end_ns, tid, estimated);
}

/* Saves or restores the ring of marks. Its capacity is saved because it decides when a full ring
 * grows or drops marks. */
static void phase_marks_archive(struct archive *a, struct phase_finder *pf)
{
	archive_field(a, pf->first);
	archive_ring(a, pf->marks, pf->first, pf->next, pf->cap, PHASE_MARKS_MIN, PHASE_MARKS);
	for (uint64_t i = pf->first; i < pf->next; i++) {
		struct phase_mark *m = phase_mark_at(pf, i);

		archive_fields(a, m, begin_ns, end_ns, tid);
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
	archive_items(a, pf->threads, pf->nthreads, pf->threads_cap, PHASE_THREADS);
	for (uint32_t i = 0; i < pf->nthreads; i++) {
		phase_thread_archive(a, &pf->threads[i]);
		if (archive_reads(a))
			pf->bursts += pf->threads[i].save.active + pf->threads[i].restore.active;
	}
	archive_fields(a, pf, trained, files, seen);
	archive_items(a, pf->breaks, pf->nbreaks, pf->breaks_cap, PHASE_BREAKS);
	for (uint32_t i = 0; i < pf->nbreaks; i++)
		phase_break_archive(a, &pf->breaks[i]);
	phase_marks_archive(a, pf);
	archive_fields(a, pf, stepped_ns, handed_ns);
}
