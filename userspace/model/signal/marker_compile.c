/* SPDX-License-Identifier: Apache-2.0 */
/* marker_compile.c - programs that are compiled for a device or loaded from a cache, and their
 * names. The name comes from a record of the program's code, which user space reads, or from the
 * compiler's call on the compiling thread. */
#include "userspace/model/signal/marker_private.h"

static struct compile *compile_of(const struct call *c, bool make)
{
	struct thread *t = c->m->last && c->m->last->tid == c->tid ? c->m->last : NULL;

	for (uint32_t i = 0; !t && i < c->m->nthreads; i++)
		t = c->m->threads[i]->tid == c->tid ? c->m->threads[i] : NULL;
	if (t && !t->compile && make)
		t->compile = calloc(1, sizeof(*t->compile));
	return t ? t->compile : NULL;
}

/* Begins a compilation. If a runtime closer to the device has begun it already, only the name is
 * added. */
static void marker_feed_compile_begin(struct call *c)
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

/* Begins a call that compiles a program or loads it from a cache. The end of the call shows which
 * of the two it was. */
static void marker_feed_cached_begin(struct call *c)
{
	struct signal s = {.kind = SIGNAL_COMPILE_BEGIN, .cached = true};
	struct compile *k = compile_of(c, true);

	if (!k)
		return;
	/* add the name of a program that is loaded from a cache */
	if (c->ev->rec->kind == GP_KIND_named) {
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

static void marker_compile_program_compiled(struct call *c, const struct compile *k,
					    uint64_t handle, uint64_t bytes, uint64_t begin_ns,
					    bool cached)
{
	struct programs *ps = call_programs(c);
	struct signal s = {.kind = SIGNAL_COMPILE,
			   .begin_ns = begin_ns,
			   .size = bytes,
			   .layer = call_layer(c),
			   .cached = cached,
			   .made = handle};
	struct program *p = ps && handle ? program_of_handle(ps, call_layer(c), handle) : NULL;

	if (p) { /* the runtime may use the handle of an earlier program again: start a new entry */
		*p = (struct program){.handle = handle,
				      .layer = p->layer,
				      .ident = ++ps->idents,
				      .seen = p->seen,
				      .bytes = bytes,
				      .code = k ? k->code : 0,
				      .tid = c->tid,
				      .cached = cached};
		if (k) {
			p->content = k->content;
			program_name(ps, p, k->name);
		}
		s.content = p->content;
		s.ident = p->ident;
		s.text = p->name;
	}
	call_emit(c, &s);
}

static void marker_feed_compile_end(struct call *c)
{
	struct compile *k = compile_of(c, false);
	bool known = k && !k->ended;

	marker_compile_program_compiled(c, known ? k : NULL, call_arg(c, 0), known ? k->bytes : 0,
					known ? k->begin_ns : 0, known && k->cached);
	if (!k)
		return;
	k->ended = true;
	k->open = false;
}

/* Ends a compilation. If the call failed, it has written no handle. A plugin that compiles calls
 * runtimes closer to the device, which load and link modules: the end of those calls is not the end
 * of the compilation. */
static void marker_feed_compile(struct call *c)
{
	struct compile *k = compile_of(c, false);
	uint64_t begin_ns = call_begin_ns(c);
	bool known = k && k->begin_ns >= begin_ns, table = call_layer(c) == LAYER_TABLE;
	uint64_t handle = table && !c->ev->call->ret ? call_arg(c, 0) : 0;

	marker_compile_program_compiled(c, known ? k : NULL, handle, table ? call_arg(c, 1) : 0,
					begin_ns, c->probe->role == GP_ROLE_cached);
	if (k && table)
		k->open = false;
}

/* Returns the oldest program that was compiled from this code and has no name yet: names are
 * reported in the order of the compilations. */
static struct program *marker_compile_program_by_code(struct programs *ps, uint32_t tid,
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

static uint32_t marker_compile_content_of(const struct gp_program *g)
{
	if (g->flags & GP_PROGRAM_GRADIENT)
		return CONTENT_GRADIENT;
	return g->flags & GP_PROGRAM_READ ? CONTENT_NONE : CONTENT_UNKNOWN;
}

static void marker_compile_program_told(struct call *c, struct program *p, const char *name)
{
	struct signal s = {.kind = SIGNAL_COMPILE};

	program_content(c->m->programs, p, marker_compile_content_of(c->ev->program));
	s.count = program_name(c->m->programs, p, name);
	s.ident = p->ident;
	s.size = p->bytes;
	s.text = p->name;
	s.content = p->content;
	call_emit(c, &s);
}

static struct program *marker_compile_program_by_run(struct programs *ps, uint64_t handle)
{
	struct program *p = ps ? program_by_handle(ps, LAYER_TABLE, handle) : NULL;

	return p || !ps ? p : program_by_handle(ps, LAYER_CLIENT, handle);
}

void marker_program_named(struct call *c)
{
	const struct gp_program *g = c->ev->program;
	bool loaded = g->flags & GP_PROGRAM_LOADED;
	struct program *p;
	struct compile *k = compile_of(c, false);
	char name[PROGRAM_NAME_MAX];

	event_copy(name, g->name);
	if (!*name || !g->code)
		return;
	p = loaded ? marker_compile_program_by_run(c->m->programs, g->code)
		   : marker_compile_program_by_code(c->m->programs, c->tid, g);
	if (p)
		marker_compile_program_told(c, p, name);
	else if (!loaded && k && k->open && k->code == g->code && k->bytes == g->bytes) {
		program_text(k->name, name);
		k->content = marker_compile_content_of(g);
	}
}

bool marker_compile(struct call *c, uint32_t role)
{
	switch (role) {
	case GP_ROLE_compile_begin:
		marker_feed_compile_begin(c);
		return true;
	case GP_ROLE_compile_end:
		marker_feed_compile_end(c);
		return true;
	case GP_ROLE_compile:
	case GP_ROLE_cached:
		if (c->ev->rec->kind == GP_KIND_call)
			marker_feed_compile(c);
		else if (role == GP_ROLE_cached)
			marker_feed_cached_begin(c);
		return true;
	default:
		return false;
	}
}
