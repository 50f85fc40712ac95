/* SPDX-License-Identifier: Apache-2.0 */
/* marker.c - turns the records of a process into signals. This file handles threads, ranges and
 * backward passes, and passes other calls on to marker_*.c. */
#include "userspace/model/signal/marker_private.h"

#include "userspace/base/number.h"

/* A nested backward pass runs further down the stack than the outer one: below Engine::execute,
 * thread_main, evaluate_function, the Python function and run_backward. That is 6592 bytes in torch
 * 2.15 and 6336 in 1.13 (x86-64). A pass that is less than this many bytes below the last one is
 * not nested. */
#define NESTED_MIN_BYTES 3072
/* A pass contains one nested pass for each checkpointed part of the network. If there are more than
 * this, and four times as many as in any earlier pass, the outer pass must have ended: a function
 * deeper in the stack trains now. */
#define NESTED_MAX 256

struct marker *marker_new(void)
{
	return calloc(1, sizeof(struct marker));
}

static void marker_forget(struct marker *m)
{
	for (uint32_t i = 0; i < m->nthreads; i++) {
		free(m->threads[i]->ranges);
		free(m->threads[i]->compile);
		free(m->threads[i]);
	}
	m->nthreads = 0;
	m->last = NULL;
	programs_free(m->programs);
	m->programs = NULL;
}

void marker_free(struct marker *m)
{
	if (!m)
		return;
	marker_forget(m);
	for (uint32_t i = 0; i < m->nnames; i++)
		free(m->names[i]);
	free(m->threads);
	free(m->names);
	free(m);
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct thread *marker_thread_new(struct marker *m, uint32_t tid)
{
	struct thread *t = NULL, **threads;
	uint32_t idle = 0;

	if (m->nthreads < MARKER_THREADS) {
		threads = grow_items(m->threads, &m->threads_cap, m->nthreads + 1, MARKER_THREADS,
				     sizeof(struct thread *));
		if (!threads)
			return NULL;
		m->threads = threads;
		t = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		m->threads[m->nthreads++] = t;
	} else {
		for (uint32_t i = 1; i < m->nthreads; i++) {
			if (m->threads[i]->seen_ns < m->threads[idle]->seen_ns)
				idle = i;
		}
		t = m->threads[idle];
		free(t->ranges);
		free(t->compile);
		memset(t, 0, sizeof(*t));
	}
	t->tid = tid;
	return t;
}

/* Returns the thread of the record, or NULL if there is no memory. The record is then handled like
 * one of an unknown thread. */
static struct thread *marker_thread_of(struct marker *m, const struct gp_rec *rec)
{
	struct thread *t = m->last;

	if (!t || t->tid != rec->tid) {
		t = NULL;
		for (uint32_t i = 0; i < m->nthreads && !t; i++) {
			if (m->threads[i]->tid == rec->tid)
				t = m->threads[i];
		}
		if (!t)
			t = marker_thread_new(m, rec->tid);
	}
	m->last = t;
	if (t)
		t->seen_ns = rec->ts_ns;
	return t;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void marker_range_begun(struct call *c, struct thread *t, const struct range *r)
{
	static const enum signal_kind kinds[] = {
		[RANGE_OTHER] = SIGNAL_RANGE_BEGIN,	    [RANGE_STEP] = SIGNAL_UPDATE_BEGIN,
		[RANGE_ZERO_GRAD] = SIGNAL_ZERO_GRAD_BEGIN, [RANGE_FETCH] = SIGNAL_FETCH_BEGIN,
		[RANGE_FORWARD] = SIGNAL_FORWARD,
	};
	struct signal s = {
		.kind = kinds[r->class], .name = r->name, .text = r->text, .depth = t->steps};

	call_emit(c, &s);
}

static void marker_range_ended(struct call *c, struct thread *t, const struct range *r, bool lost)
{
	static const enum signal_kind kinds[] = {
		[RANGE_OTHER] = SIGNAL_RANGE,	      [RANGE_STEP] = SIGNAL_UPDATE,
		[RANGE_ZERO_GRAD] = SIGNAL_ZERO_GRAD, [RANGE_FETCH] = SIGNAL_FETCH,
		[RANGE_FORWARD] = SIGNAL_RANGE,
	};
	struct signal s = {
		.kind = kinds[r->class],
		.begin_ns = r->begin_ns,
		.name = r->name,
		.text = r->text,
		.ident = r->ident,
		.tainted = lost,
	};

	if (r->class == RANGE_STEP)
		t->steps--;
	s.depth = t->steps;
	/* The backward pass has ended if the range around it has closed, a batch was fetched, or an
	 * optimizer ran. An optimizer in a hook is an exception: its operators run below the stack
	 * frame of the pass. */
	if (r->depth < t->outer_depth || r->class == RANGE_FETCH || r->class == RANGE_ZERO_GRAD ||
	    (r->class == RANGE_STEP && !r->deep))
		t->outer_sp = 0;
	call_emit(c, &s);
}

/* Ends all ranges of this depth or deeper, whose ends were lost, and emits their signals. Returns
 * true if there were any; the caller then feeds the event again. */
static bool marker_ranges_lost(struct call *c, struct thread *t, uint16_t depth)
{
	while (t->open && t->ranges[t->open - 1].depth >= depth && c->out->count < MARKER_SIGNALS) {
		marker_range_ended(c, t, &t->ranges[--t->open], true);
		c->out->more = true;
	}
	return c->out->more;
}

static void marker_feed_range_begin(struct call *c, struct thread *t)
{
	const struct gp_range_begin *b = c->ev->range_begin;
	struct range *r;

	if (b->flags & GP_RANGE_ANONYMOUS || (c->probe && c->probe->flags & GP_PROBE_ANON_RANGE)) {
		call_simple(c, SIGNAL_ANON_RANGE, 0, 1);
		return;
	}
	if (!t)
		return;
	if (marker_ranges_lost(c, t, b->depth) || t->open == GP_RANGE_DEPTH)
		return;
	r = grow_add(t->ranges, t->open, t->ranges_cap, GP_RANGE_DEPTH);
	if (!r)
		return;
	*r = (struct range){.begin_ns = c->ev->rec->ts_ns, .depth = b->depth};
	event_copy(r->text, b->name);
	marker_classify(c->m, r);
	if (r->class == RANGE_FETCH)
		t->outer_sp = 0;
	marker_range_begun(c, t, r);
	if (r->class == RANGE_STEP)
		t->steps++;
}

static void marker_feed_range_end(struct call *c, struct thread *t)
{
	uint16_t depth = c->ev->range_end->depth;

	if (!t)
		return;
	if (t->open && marker_ranges_lost(c, t, depth + 1u > UINT16_MAX ? UINT16_MAX : depth + 1))
		return;
	if (t->open && t->ranges[t->open - 1].depth == depth)
		marker_range_ended(c, t, &t->ranges[--t->open], false);
	else if (depth < t->outer_depth)
		/* the range around the backward pass has closed, although its begin was not seen:
		 * the pass has ended */
		t->outer_sp = 0;
}

/* Returns the outermost open step range, which belongs to the author's optimizer. Ranges within it
 * belong to optimizers that the author's optimizer wraps. */
static struct range *marker_range_update(struct thread *t)
{
	for (uint32_t i = 0; t && t->steps && i < t->open; i++) {
		if (t->ranges[i].class == RANGE_STEP)
			return &t->ranges[i];
	}
	return NULL;
}

/* Notes that the thread runs at stack pointer sp. The end of a backward pass has no probe, so it is
 * deduced: the thread is out of the pass when it runs above the stack frame of the pass. */
static void marker_thread_at(struct thread *t, uint64_t sp)
{
	if (t && t->outer_sp && sp >= t->outer_sp)
		t->outer_sp = 0;
}

static uint32_t marker_nested_limit(const struct thread *t)
{
	return t->nested_most > NESTED_MAX / 4 ? 4 * t->nested_most : NESTED_MAX;
}

static void marker_thread_outer(struct thread *t, uint64_t sp)
{
	if (t->nested > t->nested_most && t->nested < marker_nested_limit(t))
		t->nested_most = t->nested;
	t->nested = 0;
	t->outer_sp = sp;
	t->outer_depth = t->open ? t->ranges[t->open - 1].depth + 1 : 0;
}

static void marker_feed_backward(struct call *c, struct thread *t, uint64_t sp)
{
	struct signal s = {.kind = SIGNAL_BACKWARD, .outer = true};

	if (t) {
		s.outer = !t->outer_sp || !sp || sp + NESTED_MIN_BYTES > t->outer_sp ||
			  t->nested >= marker_nested_limit(t);
		if (s.outer)
			marker_thread_outer(t, sp);
		else
			t->nested++;
	}
	call_emit(c, &s);
}

static void marker_feed_operator(struct call *c, struct thread *t, enum signal_kind kind,
				 const struct gp_hit *h)
{
	struct range *r = marker_range_update(t);

	marker_thread_at(t, h->sp);
	if (r && !r->ident)
		r->ident = h->arg[0];
	if (r && t->outer_sp && h->sp + NESTED_MIN_BYTES <= t->outer_sp)
		r->deep = true;
	call_simple(c, kind, h->arg[0], 1);
}

/* Handles a call that makes an optimizer, or another object. The arguments contain bytes 5 to 12 of
 * the object's name, at a place that depends on the layout of Python's strings. */
static void marker_feed_optimizer(struct call *c, const struct gp_hit *h)
{
	static const char text[8] = "on.optim"; /* part of "python.optimizer" */

	if (!memcmp(&h->arg[0], text, sizeof(text)) || !memcmp(&h->arg[1], text, sizeof(text)))
		call_simple(c, SIGNAL_OPTIMIZER, 0, 1);
}

static void marker_feed_save_begin(struct call *c, struct thread *t)
{
	struct signal s = {.kind = SIGNAL_SAVE_BEGIN};
	char *text = c->out->text;

	memset(text, 0, sizeof(c->out->text));
	if (c->ev->rec->kind == GP_KIND_named && c->probe->role == GP_ROLE_save_begin)
		event_text(text, sizeof(c->out->text), c->ev->named->name,
			   sizeof(c->ev->named->name));
	if (!strcmp(text, "archive"))
		text[0] = '\0'; /* torch gives this name to a stream without a name */
	s.text = text;
	if (t) {
		t->saving = true;
		t->save_ns = c->ev->rec->ts_ns;
		memcpy(t->save, text, sizeof(t->save));
	}
	call_emit(c, &s);
}

static void marker_feed_save_call(struct call *c)
{
	char text[GP_PATH_MAX] = "";
	const char *name;

	if (c->ev->rec->kind != GP_KIND_named)
		return;
	event_copy(text, c->ev->named->name);
	name = strrchr(text, '.');
	name = name ? name + 1 : text;
	if (!strncmp(name, "async_save", 10))
		call_simple(c, SIGNAL_SAVE_CALL, 0, 1);
	else if (!strncmp(name, "save", 4))
		call_simple(c, SIGNAL_SAVE_CALL, 0, 0);
}

static void marker_feed_save_end(struct call *c, struct thread *t)
{
	struct signal s = {.kind = SIGNAL_SAVE};

	if (!t || !t->saving)
		return;
	t->saving = false;
	s.begin_ns = t->save_ns;
	s.text = t->save;
	call_emit(c, &s);
}

/* Handles a record of a probed call: it was entered (hit, named), it returned (call), or calls were
 * counted (counter). */
static void marker_feed_call(struct call *c, struct thread *t)
{
	static const int simple[] = {
		[GP_ROLE_reducer] = SIGNAL_REDUCER,
		[GP_ROLE_restore] = SIGNAL_RESTORE,
		[GP_ROLE_group_init] = SIGNAL_GROUP_BEGIN,
		[GP_ROLE_group_ready] = SIGNAL_GROUP,
	};
	static const struct gp_hit none;
	const struct gp_hit *h = c->ev->rec->kind == GP_KIND_hit ? c->ev->hit : &none;
	uint64_t count = c->ev->rec->kind == GP_KIND_counter ? c->ev->counter->count : 1;
	uint64_t ident = c->ev->rec->kind == GP_KIND_call ? c->ev->call->arg[0] : h->arg[0];
	uint32_t role = c->probe ? marker_role(c) : GP_ROLE_none;

	switch (role) {
	case GP_ROLE_range_begin:
		if (c->probe->flags & GP_PROBE_ANON_RANGE)
			call_simple(c, SIGNAL_ANON_RANGE, 0, count);
		break;
	case GP_ROLE_backward:
		marker_feed_backward(c, t, h->sp);
		break;
	case GP_ROLE_update_op:
		marker_feed_operator(c, t, SIGNAL_UPDATE_OP, h);
		break;
	case GP_ROLE_list_op:
		marker_feed_operator(c, t, SIGNAL_LIST_OP, h);
		break;
	case GP_ROLE_param_op:
		marker_feed_operator(c, t, SIGNAL_PARAM_OP, h);
		break;
	case GP_ROLE_optimizer_new:
		marker_feed_optimizer(c, h);
		break;
	case GP_ROLE_amp_update:
		marker_thread_at(t, h->sp);
		call_simple(c, SIGNAL_AMP, 0, count);
		break;
	case GP_ROLE_grad_on:
		marker_thread_at(t, h->sp);
		call_simple(c, SIGNAL_GRAD_ON, 0, count);
		break;
	case GP_ROLE_save_begin:
		marker_feed_save_begin(c, t);
		break;
	case GP_ROLE_save_call:
		marker_feed_save_call(c);
		break;
	case GP_ROLE_save_end:
		marker_feed_save_end(c, t);
		break;
	default:
		if (marker_device(c, role) || marker_program(c, role) || marker_compile(c, role))
			break;
		if (role < sizeof(simple) / sizeof(*simple) && simple[role])
			call_simple(c, (enum signal_kind)simple[role], ident, count);
		break;
	}
	if (c->ev->rec->kind == GP_KIND_call)
		marker_fault(c, role);
}

/* Handles a gap in the observation: closes all open ranges, because their ends may be missed and
 * the next end may belong to another range. An open save is kept, because the next end of a save on
 * the thread is its end. */
static void marker_feed_gap(struct call *c)
{
	uint64_t now_ns = c->ev->rec->ts_ns, from_ns = c->ev->gap->from_ns;
	struct signal s = {.kind = SIGNAL_GAP};

	from_ns = smaller_of(from_ns, now_ns);
	s.begin_ns = from_ns;

	for (uint32_t i = 0; i < c->m->nthreads; i++) {
		struct thread *t = c->m->threads[i];

		c->tid = t->tid;
		c->ts_ns = larger_of(from_ns, t->seen_ns);
		if (marker_ranges_lost(c, t, 0))
			return;
	}
	programs_gap(c->m->programs);
	c->tid = 0;
	c->ts_ns = now_ns;
	call_emit(c, &s);
}

void marker_feed(struct marker *m, const struct event *ev, const struct gp_probe *probe,
		 struct marker_signals *ret)
{
	struct call c = {.m = m,
			 .ev = ev,
			 .probe = probe,
			 .out = ret,
			 .tid = ev->rec->tid,
			 .ts_ns = ev->rec->ts_ns};

	ret->count = 0;
	ret->more = false;
	switch (ev->rec->kind) {
	case GP_KIND_range_begin:
		marker_feed_range_begin(&c, marker_thread_of(m, ev->rec));
		break;
	case GP_KIND_range_end:
		marker_feed_range_end(&c, marker_thread_of(m, ev->rec));
		break;
	case GP_KIND_hit:
	case GP_KIND_named:
	case GP_KIND_call:
		marker_feed_call(&c, marker_thread_of(m, ev->rec));
		break;
	/* Counters of other probes count hits that were not sent: their times are unknown. */
	case GP_KIND_counter:
		if (probe && probe->flags & GP_PROBE_COUNTED)
			marker_feed_call(&c, NULL);
		break;
	case GP_KIND_loss:
		if (event_loss_may_hide_marker(ev->loss->cause))
			call_simple(&c, SIGNAL_LOSS, 0, ev->loss->count);
		break;
	case GP_KIND_gap:
		marker_feed_gap(&c);
		break;
	case GP_KIND_tick:
		call_simple(&c, SIGNAL_TICK, 0, 1);
		break;
	case GP_KIND_program:
		marker_program_named(&c);
		break;
	case GP_KIND_exec:
		marker_forget(m); /* the threads and programs of the old program are gone */
		break;
	case GP_KIND_exit:
		call_simple(&c, SIGNAL_EXIT, 0, 1);
		break;
	default:
		break;
	}
}
