/* SPDX-License-Identifier: Apache-2.0 */
/* marker_save.c - saves and restores a marker. */
#include "userspace/model/signal/marker_private.h"

#include <stdio.h>

static void marker_range_archive(struct archive *a, struct range *r)
{
	archive_fields(a, r, begin_ns, depth);
	archive_below(a, &r->class, RANGE_FORWARD + 1);
	archive_field(a, r->deep);
	archive_below(a, &r->name, MARKER_NAMES + 1);
	archive_fields(a, r, ident, text);
}

static void marker_ranges_archive(struct archive *a, struct thread *t)
{
	archive_items(a, t->ranges, t->open, t->ranges_cap, GP_RANGE_DEPTH);
	if (archive_reads(a))
		t->steps = 0;
	for (uint32_t i = 0; i < t->open; i++) {
		marker_range_archive(a, &t->ranges[i]);
		if (archive_reads(a))
			t->steps += t->ranges[i].class == RANGE_STEP;
	}
}

static void marker_compile_archive(struct archive *a, struct compile **at)
{
	struct compile *k = *at = archive_object(a, *at, sizeof(*k));

	if (!k)
		return;
	archive_fields(a, k, begin_ns, code, bytes, open, ended, cached);
	archive_below(a, &k->content, CONTENT_COUNT);
	archive_field(a, k->name);
}

static void marker_thread_archive(struct archive *a, struct thread **at)
{
	struct thread *t = *at = archive_object(a, *at, sizeof(*t));

	archive_require(a, t);
	if (!t)
		return;
	archive_fields(a, t, tid, seen_ns, outer_sp, outer_depth, nested, nested_most, saving,
		       save_ns, save);
	marker_compile_archive(a, &t->compile);
	marker_ranges_archive(a, t);
}

static void marker_name_archive(struct archive *a, char **at)
{
	char text[GP_NAME_MAX] = "";

	if (!archive_reads(a))
		snprintf(text, sizeof(text), "%s", *at);
	archive_field(a, text);
	if (archive_reads(a))
		*at = archive_alloc(a, 1, strlen(text) + 1);
	if (archive_reads(a) && *at)
		memcpy(*at, text, strlen(text));
}

static void marker_program_archive(struct archive *a, struct program *p)
{
	archive_fields(a, p, handle, ident, code, bytes, seen, tid);
	archive_below(a, &p->layer, LAYER_TABLE + 1);
	archive_fields(a, p, inputs, cached);
	archive_below(a, &p->content, CONTENT_COUNT);
	archive_fields(a, p, input, name);
}

static void marker_pending_archive(struct archive *a, struct programs *ps)
{
	archive_items(a, ps->pending, ps->npending, ps->pending_cap, MARKER_PENDING);
	for (uint32_t i = 0; i < ps->npending; i++)
		archive_fields(a, &ps->pending[i], event, token, number);
}

static void marker_programs_archive(struct archive *a, struct programs **at)
{
	struct programs *ps = *at = archive_object(a, *at, sizeof(*ps));

	if (!ps)
		return;
	archive_below(a, &ps->layer, LAYER_TABLE + 1);
	archive_fields(a, ps, seen, idents, executions);
	archive_items(a, ps->item, ps->count, ps->cap, MARKER_PROGRAMS);
	for (uint32_t i = 0; i < ps->count; i++)
		marker_program_archive(a, &ps->item[i]);
	marker_pending_archive(a, ps);
	archive_field(a, ps->noutputs);
	for (uint32_t i = 0; i < PROGRAM_OUTPUTS; i++)
		archive_fields(a, &ps->outputs[i], buffer, ident);
	archive_field(a, ps->nearly);
	for (uint32_t i = 0; i < PROGRAM_EARLY; i++)
		archive_fields(a, &ps->early[i], token, ts_ns, failed);
}

void marker_archive(struct archive *a, struct marker **at)
{
	struct marker *m = *at = archive_object(a, *at, sizeof(*m));
	uint32_t n;

	if (!m)
		return;
	n = m->nthreads;
	archive_count(a, &n, MARKER_THREADS, sizeof(struct thread));
	if (archive_reads(a) && n) {
		m->threads = archive_alloc(a, n, sizeof(struct thread *));
		m->threads_cap = n = m->threads ? n : 0;
	}
	for (uint32_t i = 0; i < n && !a->error; i++) {
		marker_thread_archive(a, &m->threads[i]);
		m->nthreads = archive_reads(a) && m->threads[i] ? i + 1 : m->nthreads;
	}
	n = m->nnames;
	archive_count(a, &n, MARKER_NAMES, GP_NAME_MAX);
	if (archive_reads(a) && n) {
		m->names = archive_alloc(a, n, sizeof(char *));
		m->names_cap = n = m->names ? n : 0;
	}
	for (uint32_t i = 0; i < n && !a->error; i++) {
		marker_name_archive(a, &m->names[i]);
		m->nnames = archive_reads(a) && m->names[i] ? i + 1 : m->nnames;
	}
	marker_programs_archive(a, &m->programs);
}
