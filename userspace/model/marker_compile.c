/* SPDX-License-Identifier: Apache-2.0 */
/* marker_compile.c - programs that are compiled for a device, or come from a cache of compiled
 * ones, and their names: the record of a program's code (user space reads it) or the compiler's own
 * word, each on the thread that compiles.
 */
#include "userspace/model/marker_internal.h"

#include <stdlib.h>
#include <string.h>

static struct compile *compile_of(const struct call *c, bool make)
{
	struct thread *t = c->m->last && c->m->last->tid == c->tid ? c->m->last : NULL;

	for (uint32_t i = 0; !t && i < c->m->nthreads; i++)
		t = c->m->threads[i]->tid == c->tid ? c->m->threads[i] : NULL;
	if (t && !t->compile && make)
		t->compile = calloc(1, sizeof(*t->compile));
	return t ? t->compile : NULL;
}

/* A layer below the one that began it may say the name, and begins nothing. */
static void feed_compile_begin(struct call *c)
{
	struct compile *k = compile_of(c, true);
	struct signal s = {.kind = SIGNAL_COMPILE_BEGIN};
	char name[GP_PATH_MAX];

	if (!k)
		return;
	call_name(c, name, sizeof(name));
	if (c->ev->rec->kind == GP_KIND_named && k->open && k->code) {
		program_text(k->name, name);
		return;
	}
	*k = (struct compile){.begin_ns = c->ts_ns, .open = true};
	program_text(k->name, name);
	if (c->ev->rec->kind == GP_KIND_hit) {
		k->code = call_arg(c, 0);
		k->bytes = call_arg(c, 1);
	}
	s.size = k->bytes;
	s.text = k->name;
	call_emit(c, &s);
}

/* Of a call the end tells what it was: it was compiled, or it came from a cache. */
static void feed_cached_begin(struct call *c)
{
	struct signal s = {.kind = SIGNAL_COMPILE_BEGIN, .cached = true};
	struct compile *k = compile_of(c, true);

	if (!k)
		return;
	if (c->ev->rec->kind == GP_KIND_named) { /* one that is compiled has told its name before */
		if (k->open && k->cached)
			call_name(c, k->name, sizeof(k->name));
		return;
	}
	*k = (struct compile){.begin_ns = c->ts_ns,
			      .code = call_arg(c, 0),
			      .bytes = call_arg(c, 1),
			      .open = true,
			      .cached = true};
	s.size = k->bytes;
	s.text = k->name;
	call_emit(c, &s);
}

static void program_compiled(struct call *c, const struct compile *k, uint64_t handle,
			     uint64_t bytes, uint64_t begin_ns, bool cached)
{
	struct programs *ps = call_programs(c);
	struct signal s = {.kind = SIGNAL_COMPILE,
			   .begin_ns = begin_ns,
			   .size = bytes,
			   .layer = call_layer(c),
			   .cached = cached,
			   .made = handle};
	struct program *p = ps && handle ? program_of_handle(ps, call_layer(c), handle) : NULL;

	if (p) { /* the handle may have been another program's */
		*p = (struct program){.handle = handle,
				      .layer = p->layer,
				      .ident = ++ps->idents,
				      .seen = p->seen,
				      .bytes = bytes,
				      .code = k ? k->code : 0,
				      .tid = c->tid,
				      .cached = cached};
		if (k)
			program_name(ps, p, k->name);
		s.ident = p->ident;
		s.text = p->name;
	}
	call_emit(c, &s);
}

static void feed_compile_end(struct call *c)
{
	struct compile *k = compile_of(c, false);
	bool known = k && !k->ended;

	program_compiled(c, known ? k : NULL, call_arg(c, 0), known ? k->bytes : 0,
			 known ? k->begin_ns : 0, known && k->cached);
	if (!k)
		return;
	k->ended = true;
	k->open = false;
}

/* A call that failed wrote no handle. Within a plugin's compile the runtimes below load and link
 * modules: that goes on. */
static void feed_compile(struct call *c)
{
	struct compile *k = compile_of(c, false);
	uint64_t begin_ns = call_begin_ns(c);
	bool known = k && k->begin_ns >= begin_ns, table = call_layer(c) == LAYER_TABLE;
	uint64_t handle = table && !c->ev->call->ret ? call_arg(c, 0) : 0;

	program_compiled(c, known ? k : NULL, handle, table ? call_arg(c, 1) : 0, begin_ns,
			 c->probe->role == GP_ROLE_cached);
	if (k && table)
		k->open = false;
}

/* The oldest one of that code that has no name: its words come in order. */
static struct program *program_by_code(struct programs *ps, uint32_t tid,
				       const struct gp_program *g)
{
	struct program *found = NULL;

	for (uint32_t i = 0; ps && i < ps->count; i++) {
		struct program *p = &ps->item[i];

		if (!*p->name && p->code == g->code && p->bytes == g->bytes && p->tid == tid &&
		    (!found || p->ident < found->ident))
			found = p;
	}
	return found;
}

void marker_program_named(struct call *c)
{
	const struct gp_program *g = c->ev->program;
	struct program *p = program_by_code(c->m->programs, c->tid, g);
	struct compile *k = compile_of(c, false);
	struct signal s = {.kind = SIGNAL_COMPILE};
	char name[PROGRAM_NAME_MAX];

	event_text(name, sizeof(name), g->name, sizeof(g->name));
	if (!*name || !g->code)
		return;
	if (!p) {
		if (k && k->open && k->code == g->code && k->bytes == g->bytes)
			program_text(k->name, name);
		return;
	}
	s.count = program_name(c->m->programs, p, name);
	s.ident = p->ident;
	s.size = p->bytes;
	s.text = p->name;
	call_emit(c, &s);
}

void marker_compile(struct call *c, uint32_t role)
{
	bool call = c->ev->rec->kind == GP_KIND_call;

	if (role == GP_ROLE_compile_begin)
		feed_compile_begin(c);
	else if (role == GP_ROLE_compile_end)
		feed_compile_end(c);
	else if (call)
		feed_compile(c);
	else if (role == GP_ROLE_cached)
		feed_cached_begin(c);
}
