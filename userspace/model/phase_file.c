/* SPDX-License-Identifier: Apache-2.0 */
/* phase_file.c - checkpoints by their files, beside what their writers and readers show of
 * themselves. */
#include "userspace/model/phase_internal.h"

#include <errno.h>
#include <string.h>

/* A marker's file is counted by its marker: what is seen of it is a second look at the same. */
static void burst_see(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
		      const struct signal *s, uint64_t bytes)
{
	phase_burst(pf, t, b, s);
	b->files--;
	b->seen++;
	b->bytes += bytes;
}

/* Threads of a pool write the files of one folder: one checkpoint, told as the first one's. */
static struct phase_thread *unit_thread(struct phase_finder *pf, struct phase_thread *t,
					const struct signal *s)
{
	for (uint32_t i = 0; pf->bursts && s->ident && i < pf->nthreads; i++) {
		struct phase_thread *other = &pf->threads[i];

		if (other->save.active && other->save.unit == s->ident && other->save.seen &&
		    s->begin_ns < other->save.end_ns + BURST_NS)
			return other;
	}
	/* What it wrote before was another folder's. */
	if (s->ident && t->save.active && t->save.unit && !t->save.open)
		phase_burst_close(pf, t, &t->save, true);
	return t;
}

bool phase_written(struct phase_finder *pf, const struct signal *s, bool likely)
{
	struct phase_thread *t = phase_thread_of(pf, s);
	struct burst *b;

	if (!t) {
		pf->error = -ENOMEM;
		return false;
	}
	t = unit_thread(pf, t, s);
	b = &t->save;
	if (s->begin_ns < t->saved_ns) /* closed late, when its checkpoint had been told */
		return true;
	/* Open while this thread trained: a log, not what was known at one moment. */
	if (t->trained_ns > s->begin_ns)
		return false;
	if (!likely && (!b->active || s->begin_ns > b->end_ns + BURST_NS))
		return false;
	burst_see(pf, t, b, s, s->count);
	if (s->begin_ns < b->begin_ns)
		b->begin_ns = s->begin_ns;
	if (!b->unit)
		b->unit = s->ident;
	return true;
}

void phase_renamed(struct phase_finder *pf, uint64_t unit, uint64_t ts_ns)
{
	for (uint32_t i = 0; pf->bursts && unit && i < pf->nthreads; i++) {
		struct phase_thread *t = &pf->threads[i];

		if (!t->save.active || t->save.unit != unit || t->save.open)
			continue;
		if (ts_ns > t->save.end_ns)
			t->save.end_ns = ts_ns;
		phase_burst_close(pf, t, &t->save, true);
	}
}

void phase_opened(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t = phase_thread_of(pf, s);
	struct burst *b;
	bool again;

	if (!t)
		pf->error = -ENOMEM;
	if (!t || t->fetching)
		return;
	b = &t->restore;
	/* safetensors opens its file twice: for the header, and to map it. */
	again = b->active && b->seen && !strcmp(b->file, s->text);
	burst_see(pf, t, b, s, again ? 0 : s->count);
	if (again && b->seen > 1)
		b->seen--;
	b->open = true;
}

void phase_read(struct phase_finder *pf, const struct signal *s)
{
	struct phase_thread *t = phase_thread_of(pf, s);
	struct burst *b;

	if (!t)
		pf->error = -ENOMEM;
	if (!t || !t->restore.active || s->begin_ns < t->restore.begin_ns)
		return;
	b = &t->restore;
	b->open = false;
	if (s->ts_ns > b->end_ns)
		b->end_ns = s->ts_ns;
}
