/* SPDX-License-Identifier: Apache-2.0 */
/* marker_save.c - the state of the markers as bytes. */
#include "userspace/model/signal/marker_private.h"

#include <stdio.h>
#include <string.h>

static void marker_range_archive(struct archive *a, struct range *r)
{
	archive_number(a, &r->begin_ns);
	archive_number(a, &r->depth);
	archive_below(a, &r->class, RANGE_FORWARD + 1);
	archive_number(a, &r->deep);
	archive_below(a, &r->name, MARKER_NAMES + 1);
	archive_number(a, &r->ident);
	archive_text(a, r->text);
}

static void marker_ranges_archive(struct archive *a, struct thread *t)
{
	archive_count(a, &t->open, GP_RANGE_DEPTH, sizeof(*t->ranges));
	if (archive_reads(a) && t->open) {
		t->ranges = archive_alloc(a, t->open, sizeof(*t->ranges));
		t->ranges_cap = t->open = t->ranges ? t->open : 0;
		t->steps = 0;
	}
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
	archive_number(a, &k->begin_ns);
	archive_number(a, &k->code);
	archive_number(a, &k->bytes);
	archive_number(a, &k->open);
	archive_number(a, &k->ended);
	archive_number(a, &k->cached);
	archive_below(a, &k->content, CONTENT_COUNT);
	archive_text(a, k->name);
}

static void marker_thread_archive(struct archive *a, struct thread **at)
{
	struct thread *t = *at = archive_object(a, *at, sizeof(*t));

	archive_require(a, t);
	if (!t)
		return;
	archive_number(a, &t->tid);
	archive_number(a, &t->seen_ns);
	archive_number(a, &t->outer_sp);
	archive_number(a, &t->outer_depth);
	archive_number(a, &t->nested);
	archive_number(a, &t->nested_most);
	archive_number(a, &t->saving);
	archive_number(a, &t->save_ns);
	archive_text(a, t->save);
	marker_compile_archive(a, &t->compile);
	marker_ranges_archive(a, t);
}

static void marker_name_archive(struct archive *a, char **at)
{
	char text[GP_NAME_MAX] = "";

	if (!archive_reads(a))
		snprintf(text, sizeof(text), "%s", *at);
	archive_text(a, text);
	if (archive_reads(a))
		*at = archive_alloc(a, 1, strlen(text) + 1);
	if (archive_reads(a) && *at)
		memcpy(*at, text, strlen(text));
}

static void marker_program_archive(struct archive *a, struct program *p)
{
	archive_number(a, &p->handle);
	archive_number(a, &p->ident);
	archive_number(a, &p->code);
	archive_number(a, &p->bytes);
	archive_number(a, &p->seen);
	archive_number(a, &p->tid);
	archive_below(a, &p->layer, LAYER_TABLE + 1);
	archive_number(a, &p->inputs);
	archive_number(a, &p->cached);
	archive_below(a, &p->content, CONTENT_COUNT);
	archive_number(a, &p->input);
	archive_text(a, p->name);
}

static void marker_pending_archive(struct archive *a, struct programs *ps)
{
	archive_count(a, &ps->npending, MARKER_PENDING, sizeof(*ps->pending));
	if (archive_reads(a) && ps->npending) {
		ps->pending = archive_alloc(a, ps->npending, sizeof(*ps->pending));
		ps->pending_cap = ps->npending = ps->pending ? ps->npending : 0;
	}
	for (uint32_t i = 0; i < ps->npending; i++) {
		archive_number(a, &ps->pending[i].event);
		archive_number(a, &ps->pending[i].token);
		archive_number(a, &ps->pending[i].number);
	}
}

static void marker_programs_archive(struct archive *a, struct programs **at)
{
	struct programs *ps = *at = archive_object(a, *at, sizeof(*ps));

	if (!ps)
		return;
	archive_below(a, &ps->layer, LAYER_TABLE + 1);
	archive_number(a, &ps->seen);
	archive_number(a, &ps->idents);
	archive_number(a, &ps->executions);
	archive_count(a, &ps->count, MARKER_PROGRAMS, sizeof(*ps->item));
	if (archive_reads(a) && ps->count) {
		ps->item = archive_alloc(a, ps->count, sizeof(*ps->item));
		ps->cap = ps->count = ps->item ? ps->count : 0;
	}
	for (uint32_t i = 0; i < ps->count; i++)
		marker_program_archive(a, &ps->item[i]);
	marker_pending_archive(a, ps);
	archive_number(a, &ps->noutputs);
	for (uint32_t i = 0; i < PROGRAM_OUTPUTS; i++) {
		archive_number(a, &ps->outputs[i].buffer);
		archive_number(a, &ps->outputs[i].ident);
	}
	archive_number(a, &ps->nearly);
	for (uint32_t i = 0; i < PROGRAM_EARLY; i++) {
		archive_number(a, &ps->early[i].token);
		archive_number(a, &ps->early[i].ts_ns);
		archive_number(a, &ps->early[i].failed);
	}
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
