/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/marker_internal.h"

#include <stdio.h>
#include <string.h>

static void range_archive(struct archive *a, struct range *r)
{
	archive_number(a, &r->begin_ns);
	archive_number(a, &r->depth);
	archive_below(a, &r->class, RANGE_FORWARD + 1);
	archive_number(a, &r->deep);
	archive_below(a, &r->name, MARKER_NAMES + 1);
	archive_number(a, &r->ident);
	archive_text(a, r->text);
}

static void ranges_archive(struct archive *a, struct thread *t)
{
	archive_count(a, &t->open, GP_RANGE_DEPTH, sizeof(*t->ranges));
	if (archive_reads(a) && t->open) {
		t->ranges = archive_alloc(a, t->open, sizeof(*t->ranges));
		t->ranges_cap = t->open = t->ranges ? t->open : 0;
		t->steps = 0;
	}
	for (uint32_t i = 0; i < t->open; i++) {
		range_archive(a, &t->ranges[i]);
		if (archive_reads(a))
			t->steps += t->ranges[i].class == RANGE_STEP;
	}
}

static void thread_archive(struct archive *a, struct thread **at)
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
	ranges_archive(a, t);
}

static void name_archive(struct archive *a, char **at)
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
		thread_archive(a, &m->threads[i]);
		m->nthreads = archive_reads(a) && m->threads[i] ? i + 1 : m->nthreads;
	}
	n = m->nnames;
	archive_count(a, &n, MARKER_NAMES, GP_NAME_MAX);
	if (archive_reads(a) && n) {
		m->names = archive_alloc(a, n, sizeof(char *));
		m->names_cap = n = m->names ? n : 0;
	}
	for (uint32_t i = 0; i < n && !a->error; i++) {
		name_archive(a, &m->names[i]);
		m->nnames = archive_reads(a) && m->names[i] ? i + 1 : m->nnames;
	}
}
