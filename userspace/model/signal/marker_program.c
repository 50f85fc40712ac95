/* SPDX-License-Identifier: Apache-2.0 */
/* marker_program.c - runs of programs on a device: which program runs, and when the device
 * completes it.
 *
 * A run may be reported twice: by the function table of the device's plugin, and by a framework
 * that uses the table. Once the table has reported runs, only it gives signals; of the layers above
 * it, only names are used. The name of a compiled program is known from its compilation
 * (marker_compile.c), the name of a TensorFlow function from each run. */
#include "userspace/model/signal/marker_private.h"

void programs_free(struct programs *ps)
{
	if (!ps)
		return;
	free(ps->item);
	free(ps->pending);
	free(ps);
}

void programs_gap(struct programs *ps)
{
	if (!ps)
		return;
	ps->npending = 0;
	ps->nearly = 0;
	memset(ps->early, 0, sizeof(ps->early));
}

struct programs *call_programs(struct call *c)
{
	if (!c->m->programs)
		c->m->programs = calloc(1, sizeof(*c->m->programs));
	return c->m->programs;
}

uint32_t call_layer(const struct call *c)
{
	if (c->probe->role == GP_ROLE_graph_launch)
		return LAYER_GRAPH;
	return c->probe->flags & GP_PROBE_TABLE ? LAYER_TABLE : LAYER_CLIENT;
}

void call_name(const struct call *c, char *out, size_t len)
{
	*out = '\0';
	if (c->ev->rec->kind == GP_KIND_named)
		event_text(out, len, c->ev->named->name, sizeof(c->ev->named->name));
}

/* ---- programs -------------------------------------------------------------------------------- */

struct program *program_by_handle(struct programs *ps, uint32_t layer, uint64_t handle)
{
	for (uint32_t i = 0; i < ps->count; i++) {
		if (ps->item[i].handle == handle && ps->item[i].layer == layer)
			return &ps->item[i];
	}
	return NULL;
}

static struct program *program_new(struct programs *ps)
{
	struct program *idle;

	if (ps->count < MARKER_PROGRAMS) {
		idle = grow_add(ps->item, ps->count, ps->cap, MARKER_PROGRAMS);
		if (!idle)
			return NULL;
	} else {
		idle = ps->item;
		for (uint32_t i = 1; i < ps->count; i++)
			idle = ps->item[i].seen < idle->seen ? &ps->item[i] : idle;
	}
	*idle = (struct program){.ident = ++ps->idents, .seen = ++ps->seen};
	return idle;
}

struct program *program_of_handle(struct programs *ps, uint32_t layer, uint64_t handle)
{
	struct program *p = program_by_handle(ps, layer, handle);

	if (!p) {
		p = program_new(ps);
		if (!p)
			return NULL;
		p->handle = handle;
		p->layer = layer;
	}
	p->seen = ++ps->seen;
	return p;
}

/* ---- running --------------------------------------------------------------------------------- */

static struct program *program_run(struct call *c, struct programs *ps)
{
	char text[GP_PATH_MAX], name[PROGRAM_NAME_MAX];
	uint64_t handle = call_arg(c, 0);
	struct program *p;

	if (c->ev->rec->kind != GP_KIND_named)
		return program_of_handle(ps, call_layer(c), handle);
	call_name(c, text, sizeof(text));
	if (!program_is_function(text))
		return NULL;
	program_function_name(name, text);
	p = program_by_name(ps, name);
	if (!p) {
		p = program_new(ps);
		if (!p)
			return NULL;
		p->layer = LAYER_CLIENT;
		program_text(p->name, name);
	}
	p->seen = ++ps->seen;
	return p;
}

static uint64_t marker_pending_add(struct programs *ps, uint64_t event)
{
	struct pending *pending;

	if (!event)
		return 0;
	if (ps->npending == MARKER_PENDING)
		memmove(ps->pending, ps->pending + 1, --ps->npending * sizeof(*pending));
	pending = grow_add(ps->pending, ps->npending, ps->pending_cap, MARKER_PENDING);
	if (!pending)
		return 0;
	*pending = (struct pending){.event = event, .number = ++ps->executions};
	return ps->executions;
}

/* Finds the program whose output is the first input of this run. Addresses of buffers are used
 * again, so the latest output at the address counts, unless the host has written to the buffer
 * since. (probes/pjrt.yaml has measurements.) */
static void marker_program_execute_feed(const struct programs *ps, const struct call *c,
					struct signal *s)
{
	uint64_t input = call_arg(c, 4);

	if (c->ev->rec->kind != GP_KIND_call || !input || !call_arg(c, 5))
		return;
	s->traced = true;
	for (uint32_t i = 0; i < PROGRAM_OUTPUTS && i < ps->noutputs; i++) {
		uint32_t at = (ps->noutputs - 1 - i) % PROGRAM_OUTPUTS;

		if (ps->outputs[at].buffer != input)
			continue;
		s->from = ps->outputs[at].ident;
		return;
	}
}

/* Sets s->changes if the first input of this run differs from that of the program's last run. */
static void marker_program_execute_input(const struct call *c, struct program *p, struct signal *s)
{
	bool hit = c->ev->rec->kind == GP_KIND_hit;
	uint64_t input = c->ev->rec->kind == GP_KIND_call ? call_arg(c, 4)
			 : hit				  ? c->ev->hit->sp
							  : 0;

	s->readable = hit && c->probe->flags & GP_PROBE_OBJECT;
	if (c->probe->role != GP_ROLE_execute || (hit && !s->readable))
		return;
	s->changes = p->input && input && p->input != input;
	p->input = input;
}

/* Handles a write of the host to a buffer: an output of a program at this address is
 * overwritten. */
static void marker_feed_buffer(struct call *c)
{
	struct programs *ps = c->m->programs;
	struct signal s = {.kind = SIGNAL_COPY, .begin_ns = call_begin_ns(c), .ident = COPY_IN};

	for (uint32_t i = 0; ps && i < PROGRAM_OUTPUTS; i++) {
		if (ps->outputs[i].buffer == call_arg(c, 0))
			ps->outputs[i].buffer = 0;
	}
	call_emit(c, &s);
}

void marker_buffers_unseen(struct marker *m)
{
	if (!m || !m->programs)
		return;
	memset(m->programs->outputs, 0, sizeof(m->programs->outputs));
	m->programs->noutputs = 0;
}

/* Handles a run of a program. A run that is reported by name (a TensorFlow function) counts as one
 * of LAYER_TABLE. */
static void marker_feed_execute(struct call *c)
{
	struct programs *ps = call_programs(c);
	bool call = c->ev->rec->kind == GP_KIND_call, named = c->ev->rec->kind == GP_KIND_named;
	uint32_t layer = named ? LAYER_TABLE : call_layer(c);
	struct signal s = {.kind = SIGNAL_EXECUTE, .begin_ns = call_begin_ns(c), .layer = layer};
	struct program *p;

	if (!ps || layer < ps->layer || c->ev->rec->kind == GP_KIND_counter ||
	    marker_call_failed(c->ev, c->probe))
		return;
	p = program_run(c, ps);
	if (!p)
		return;
	if (!named)
		ps->layer = layer;
	if (c->probe->role == GP_ROLE_execute && !named)
		s.inputs = (uint32_t)call_arg(c, 1);
	program_takes(ps, p, s.inputs);
	s.ident = p->ident;
	s.text = p->name;
	s.size = p->bytes;
	s.cached = p->cached;
	s.content = p->content;
	marker_program_execute_input(c, p, &s);
	if (call && layer == LAYER_TABLE) {
		s.number = marker_pending_add(ps, call_arg(c, 3));
		marker_program_execute_feed(ps, c, &s);
		ps->outputs[ps->noutputs % PROGRAM_OUTPUTS].buffer = call_arg(c, 5);
		ps->outputs[ps->noutputs++ % PROGRAM_OUTPUTS].ident = p->ident;
	}
	call_emit(c, &s);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void marker_pending_drop(struct programs *ps, uint32_t at)
{
	ps->npending--;
	memmove(ps->pending + at, ps->pending + at + 1, (ps->npending - at) * sizeof(*ps->pending));
}

/* Drops executions before index `at` that wait for the same token. A token is an address that is
 * used again, so these executions have completed without a record. Returns the new index of the
 * execution that had index `at`. */
static uint32_t marker_pending_outdated(struct programs *ps, uint32_t at, uint64_t token)
{
	for (uint32_t i = at; i; i--) {
		if (ps->pending[i - 1].token != token)
			continue;
		marker_pending_drop(ps, i - 1);
		at--;
	}
	return at;
}

static void marker_program_execution_done(struct call *c, uint32_t at, uint64_t ts_ns, bool failed)
{
	struct programs *ps = c->m->programs;
	struct signal s = {
		.kind = SIGNAL_DONE, .number = ps->pending[at].number, .tainted = failed};

	s.begin_ns = ts_ns;
	marker_pending_drop(ps, at);
	call_emit(c, &s);
}

static void marker_feed_on_ready(struct call *c)
{
	struct programs *ps = c->m->programs;
	uint64_t event = call_arg(c, 0), token = call_arg(c, 1), begin_ns = call_begin_ns(c);
	uint32_t at;

	for (at = ps ? ps->npending : 0;
	     at && (ps->pending[at - 1].event != event || ps->pending[at - 1].token);)
		at--;
	if (!at || !token)
		return;
	at = marker_pending_outdated(ps, at - 1, token) + 1;
	ps->pending[at - 1].token = token;
	for (uint32_t i = 0; i < PROGRAM_EARLY; i++) {
		if (ps->early[i].token != token || ps->early[i].ts_ns < begin_ns)
			continue;
		ps->early[i].token = 0;
		marker_program_execution_done(c, at - 1, ps->early[i].ts_ns, ps->early[i].failed);
		return;
	}
}

static void marker_feed_completion(struct call *c)
{
	struct programs *ps = call_programs(c);
	uint64_t token = call_arg(c, 1);
	bool failed = call_arg(c, 0);

	if (!ps || !token)
		return;
	for (uint32_t i = 0; i < ps->npending; i++) {
		if (ps->pending[i].token == token) {
			marker_program_execution_done(c, i, c->ts_ns, failed);
			return;
		}
	}
	ps->early[ps->nearly % PROGRAM_EARLY].token = token;
	ps->early[ps->nearly % PROGRAM_EARLY].ts_ns = c->ts_ns;
	ps->early[ps->nearly++ % PROGRAM_EARLY].failed = failed;
}

static void marker_feed_program_end(struct call *c)
{
	struct program *p;

	p = c->m->programs ? program_by_handle(c->m->programs, call_layer(c), call_arg(c, 0))
			   : NULL;
	if (p)
		p->handle = 0; /* keep the entry, because the program's name is still needed */
}

bool marker_program(struct call *c, uint32_t role)
{
	switch (role) {
	case GP_ROLE_execute:
	case GP_ROLE_graph_launch:
		marker_feed_execute(c);
		return true;
	case GP_ROLE_on_ready:
		marker_feed_on_ready(c);
		return true;
	case GP_ROLE_completion:
		marker_feed_completion(c);
		return true;
	case GP_ROLE_program_end:
		marker_feed_program_end(c);
		return true;
	case GP_ROLE_buffer_in:
		marker_feed_buffer(c);
		return true;
	default:
		return false;
	}
}
