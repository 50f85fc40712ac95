/* SPDX-License-Identifier: Apache-2.0 */
/* phase_file.c - finds checkpoints by files that the process writes and reads, in addition to those
 * found by calls of a framework's writers and readers. */
#include "userspace/model/phase/phase_private.h"

/* A file belongs to a call of a checkpoint writer if it was opened at most this long (ns) before
 * the call. */
#define SOON_NS 100000000ull

/* Adds a file event to a checkpoint. Leaves b->files unchanged, which counts calls of writers. */
static void phase_file_burst_see(struct phase_finder *pf, struct phase_thread *t, struct burst *b,
				 const struct signal *s, uint64_t bytes)
{
	phase_burst(pf, t, b, s);
	b->files--;
	b->seen++;
	b->bytes += bytes;
}

static struct burst *phase_file_burst_of(struct phase_thread *t, bool restore)
{
	return restore ? &t->restore : &t->save;
}

/* Returns the thread to whose checkpoint the file belongs. If threads of a pool write or read the
 * files of one folder, the files are one checkpoint of the thread with the first file. */
static struct phase_thread *phase_file_unit_thread(struct phase_finder *pf, struct phase_thread *t,
						   const struct signal *s, bool restore)
{
	for (uint32_t i = 0; pf->bursts && s->ident && i < pf->nthreads; i++) {
		const struct burst *b = phase_file_burst_of(&pf->threads[i], restore);

		if (b->active && b->unit == s->ident && b->seen &&
		    s->begin_ns < b->end_ns + BURST_NS)
			return &pf->threads[i];
	}
	/* Earlier files of this thread belong to another folder, so their checkpoint is
	 * complete. */
	if (s->ident && phase_file_burst_of(t, restore)->active &&
	    phase_file_burst_of(t, restore)->unit && !phase_file_burst_of(t, restore)->open)
		phase_burst_close(pf, t, phase_file_burst_of(t, restore), true);
	return restore ? t : phase_save_thread(pf, t);
}

bool phase_written(struct phase_finder *pf, const struct signal *s, bool likely)
{
	struct phase_thread *t = phase_thread_of(pf, s);
	struct burst *b;

	if (!t) {
		pf->error = -ENOMEM;
		return false;
	}
	t = phase_file_unit_thread(pf, t, s, false);
	b = &t->save;
	/* the file belongs to a checkpoint that was reported before the file was closed */
	if (s->begin_ns < t->saved_ns)
		return true;
	/* The file was open while its thread trained, so it is a log and not a checkpoint. */
	if (t->trained_ns > s->begin_ns)
		return false;
	/* neither its name nor a writer's call at the right time shows that the file is a
	 * checkpoint */
	if (!likely && (!b->active || s->begin_ns > b->end_ns + BURST_NS ||
			s->begin_ns + SOON_NS < b->begin_ns))
		return false;
	phase_file_burst_see(pf, t, b, s, s->count);
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

void phase_files(struct phase_finder *pf)
{
	pf->files = true;
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
	t = phase_file_unit_thread(pf, t, s, true);
	b = &t->restore;
	/* The safetensors library opens a file twice, to read its header and to map the file.
	 * Count such a file once. */
	again = b->active && b->seen && !strcmp(b->file, s->text);
	phase_file_burst_see(pf, t, b, s, again ? 0 : s->count);
	if (!b->unit)
		b->unit = s->ident;
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
	t = t ? phase_file_unit_thread(pf, t, s, true) : NULL;
	if (!t || !t->restore.active || s->begin_ns < t->restore.begin_ns)
		return;
	b = &t->restore;
	b->open = false;
	if (s->ts_ns > b->end_ns)
		b->end_ns = s->ts_ns;
}
