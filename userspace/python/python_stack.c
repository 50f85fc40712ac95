/* SPDX-License-Identifier: Apache-2.0 */
/* python_stack.c - reads the threads of a process, and their chains of frames. */
#include "userspace/python/python_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/proc_file.h"
#include "userspace/python/python_private.h"

#define ATTEMPTS	 3
#define SAME		 2 /* number of further reads that must give the same chain of frames */
#define INTERPRETERS_MAX 16
#define PAGE		 4096ull
#define THREADS_MAX	 4096
#define LOCK_BYTES	 256 /* at least the size of struct _gil_runtime_state */
#define OWNER_GENERATOR	 1   /* FRAME_OWNED_BY_GENERATOR, from 3.11 on */

/* Address of a PyThreadState; holder: address of the PyThreadState that holds the lock of the same
 * interpreter */
struct python_state {
	uint64_t address, holder, interpreter;
};

/* ---- opening --------------------------------------------------------------------------------- */

static size_t python_most(const uint32_t *offsets, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = offsets[i] > most ? offsets[i] : most;
	return most;
}

int python_attach(pid_t pid, python_read_fn *read, void *ctx, const struct python_place *place,
		  struct python_process **ret, char why[PYTHON_WHY_MAX])
{
	struct python_process *p = calloc(1, sizeof(*p));
	const struct python_offsets *at;
	int err;

	snprintf(why, PYTHON_WHY_MAX, "out of memory");
	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->read = read;
	p->ctx = ctx ? ctx : &p->pid;
	p->place = *place;
	p->lines = malloc(PYTHON_LINES_MAX);
	err = p->lines
		      ? python_offsets(read, p->ctx, place->runtime, &p->place.version, &p->at, why)
		      : -ENOMEM;
	if (err) {
		python_close(p);
		return err;
	}
	at = &p->at;
	p->frame_bytes = 8 + python_most((uint32_t[]){at->frame_previous, at->frame_code,
						      at->frame_last, at->frame_owner},
					 4);
	p->code_bytes = 8 + python_most((uint32_t[]){at->code_function, at->code_file,
						     at->code_lines, at->code_first},
					4);
	*ret = p;
	return 0;
}

int python_open(pid_t pid, struct python_process **ret, char why[PYTHON_WHY_MAX])
{
	struct python_process *p;
	struct python_place place;
	int err = python_find(pid, python_memory_read, &pid, &place, why);

	if (!err)
		err = python_attach(pid, python_memory_read, NULL, &place, &p, why);
	if (err)
		return err;
	err = python_tids_open(p);
	if (err) {
		python_close(p);
		snprintf(why, PYTHON_WHY_MAX, "out of memory");
		return err;
	}
	*ret = p;
	return 0;
}

void python_close(struct python_process *p)
{
	if (!p)
		return;
	python_codes_free(p);
	python_tids_free(p);
	free(p->lines);
	free(p);
}

uint32_t python_version(const struct python_process *p)
{
	return p->place.version;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Returns the PyThreadState of the thread that holds the lock of an interpreter; 0: none. */
static uint64_t python_holder(struct python_process *p, uint64_t interpreter)
{
	const struct python_offsets *at = &p->at;
	uint64_t gil, holder = 0;
	uint32_t locked = 0;

	if (at->runtime_holder)
		return python_read_one(p, p->place.runtime + at->runtime_holder, &holder,
				       sizeof(holder))
			       ? holder
			       : 0;
	if (!python_read_one(p, interpreter + at->interpreter_gil, &gil, sizeof(gil)) ||
	    !python_read(p,
			 (struct python_range[]){{gil + at->gil_holder, &holder, sizeof(holder)},
						 {gil + at->gil_locked, &locked, sizeof(locked)}},
			 2))
		return 0;
	return locked == 1 ? holder : 0;
}

/* Reads the list of threads, newest first. Returns their number; -EAGAIN: the list changed while it
 * was read. */
static int python_threads_list(struct python_process *p, struct python_state *states)
{
	const struct python_offsets *at = &p->at;
	uint64_t interpreter, thread, owner, holder, next;
	int n = 0;

	if (!python_read_one(p, p->place.runtime + at->runtime_interpreters, &interpreter,
			     sizeof(interpreter)))
		return -EAGAIN;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++, interpreter = next) {
		holder = python_holder(p, interpreter);
		if (!python_read(p,
				 (struct python_range[]){
					 {interpreter + at->interpreter_threads, &thread, 8},
					 {interpreter + at->interpreter_next, &next, 8}},
				 2))
			return -EAGAIN;
		while (thread && n < THREADS_MAX) {
			states[n++] = (struct python_state){thread, holder, interpreter};
			if (!python_read(p,
					 (struct python_range[]){
						 {thread + at->thread_interpreter, &owner, 8},
						 {thread + at->thread_next, &thread, 8}},
					 2) ||
			    owner != interpreter)
				return -EAGAIN;
		}
	}
	return n;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct python_frame_link python_frame_link(const struct python_process *p,
						  const uint8_t *bytes)
{
	const struct python_offsets *at = &p->at;
	struct python_frame_link l = {0};

	memcpy(&l.previous, bytes + at->frame_previous, sizeof(l.previous));
	memcpy(&l.code, bytes + at->frame_code, sizeof(l.code));
	if (at->code_instructions)
		memcpy(&l.last, bytes + at->frame_last, sizeof(l.last));
	else
		memcpy(&l.last, bytes + at->frame_last, sizeof(int32_t));
	l.code &= ~7ull; /* from 3.14 on the lowest bits are flags of the reference */
	l.owner = at->frame_owner ? bytes[at->frame_owner] : 0;
	return l;
}

/* Returns true for a frame that marks a call of the interpreter from C: it has no Python code. */
static bool python_frame_is_c(const struct python_process *p, const struct python_frame_link *l)
{
	return p->at.owner_c && l->owner >= p->at.owner_c;
}

/* Returns the bytes of a frame; NULL if they cannot be read. From CPython 3.11 on, most callers are
 * before the frame in the same page, so that part of the page is read too. *begin, *end: addresses
 * of the bytes read last; 0 for the first frame. */
static const uint8_t *python_chain_frame(struct python_process *p, uint64_t frame, uint64_t *begin,
					 uint64_t *end)
{
	if (frame < *begin || frame > *end || *end - frame < p->frame_bytes) {
		*begin = p->at.code_instructions ? frame & ~(PAGE - 1) : frame;
		*end = frame + p->frame_bytes;
		if (*end < frame || !python_read_one(p, *begin, p->raw, *end - *begin))
			return NULL;
	}
	return p->raw + (frame - *begin);
}

/* Follows the chain, one frame after the other. Returns false if memory could not be read. */
static bool python_chain_walk(struct python_process *p, uint64_t state, struct python_chain *c)
{
	uint64_t frame, begin = 0, end = 0;
	const uint8_t *bytes;
	size_t python = 0;

	c->n = 0;
	c->cut = false;
	if (!python_read_one(p, state + p->at.thread_frame, &frame, sizeof(frame)))
		return false;
	c->cframe = p->at.thread_has_cframe ? frame : 0;
	if (c->cframe && !python_read_one(p, c->cframe + p->at.cframe_frame, &frame, sizeof(frame)))
		return false;
	while (frame) {
		if (c->n == PYTHON_CHAIN_MAX || python == PYTHON_FRAMES_MAX) {
			c->cut = true;
			break;
		}
		bytes = python_chain_frame(p, frame, &begin, &end);
		if (!bytes)
			return false;
		c->address[c->n] = frame;
		c->link[c->n] = python_frame_link(p, bytes);
		python += !python_frame_is_c(p, &c->link[c->n]);
		frame = c->link[c->n++].previous;
	}
	return true;
}

/* Makes the ranges for reading all frames of a chain. Frames beside each other, as most are from
 * CPython 3.11 on, are read in one piece: the shorter the reading takes, the less they change.
 * Returns the number of ranges. */
static size_t python_chain_ranges(struct python_process *p, const struct python_chain *c,
				  struct python_range *ranges)
{
	const uint64_t *address = c->address;
	size_t n = 0, used = 0, bytes;

	for (size_t i = 0, k; i < c->n; i = k + 1) {
		for (k = i; k + 1 < c->n && address[k + 1] < address[k]; k++) {
			if (address[i] - address[k + 1] > (k + 1 - i) * PYTHON_FRAME_SPAN)
				break;
		}
		bytes = address[i] - address[k] + p->frame_bytes;
		ranges[n++] = (struct python_range){address[k], p->raw + used, bytes};
		for (size_t f = i; f <= k; f++)
			p->raw_at[f] = used + address[f] - address[k];
		used += bytes;
	}
	return n;
}

/* Reads the frames of a chain again, all at once. Returns false if the chain has changed. */
static bool python_chain_again(struct python_process *p, uint64_t state, struct python_chain *c)
{
	struct python_range ranges[PYTHON_RANGES_MAX];
	uint64_t first = 0, last = 0, frame = 0;
	size_t n = 0;

	ranges[n++] = (struct python_range){state + p->at.thread_frame, &first, sizeof(first)};
	if (c->cframe)
		ranges[n++] = (struct python_range){c->cframe + p->at.cframe_frame, &first,
						    sizeof(first)};
	n += python_chain_ranges(p, c, ranges + n);
	ranges[n++] = (struct python_range){ranges[0].address, &last, sizeof(last)};
	if (!python_read(p, ranges, n) || last != (c->cframe ? c->cframe : first))
		return false;
	frame = first;
	for (size_t i = 0; i < c->n; i++) {
		if (frame != c->address[i])
			return false;
		c->link[i] = python_frame_link(p, p->raw + p->raw_at[i]);
		frame = c->link[i].previous;
	}
	/* A chain that ends with a generator may have changed: a generator that has just yielded a
	 * value has no caller for a moment. */
	return c->cut || (!frame && (!c->n || c->link[c->n - 1].owner != OWNER_GENERATOR));
}

/* Returns true if both chains have the same frames. The innermost frame may be at another
 * instruction. The others may not, because they wait for the innermost one to return. */
static bool python_chain_same(const struct python_chain *a, const struct python_chain *b)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->link[i].code != b->link[i].code || a->link[i].owner != b->link[i].owner ||
		    (i && a->link[i].last != b->link[i].last))
			return false;
	}
	return true;
}

/* Returns true if the chain did not change while it was read. A change is missed only if a loop of
 * the program brings the thread back to the same frames at each reading. */
static bool python_chain_read(struct python_process *p, uint64_t state)
{
	if (!python_chain_walk(p, state, &p->now) || !python_chain_again(p, state, &p->now))
		return false;
	for (int i = 0; i < SAME; i++) {
		p->again = p->now;
		if (!python_chain_again(p, state, &p->again) ||
		    !python_chain_same(&p->now, &p->again))
			return false;
	}
	return true;
}

static void python_thread_frames(struct python_process *p, uint64_t state,
				 struct python_thread *ret)
{
	const struct python_frame_link *links[PYTHON_FRAMES_MAX];
	bool whole = false;

	for (int i = 0; i < ATTEMPTS && !whole; i++) {
		whole = python_chain_read(p, state);
		if (!whole && i < ATTEMPTS - 1)
			continue;
		ret->nframes = 0;
		for (size_t k = 0; k < p->now.n && ret->nframes < PYTHON_FRAMES_MAX; k++) {
			if (!python_frame_is_c(p, &p->now.link[k]))
				links[ret->nframes++] = &p->now.link[k];
		}
		whole &= python_codes_name(p, links, ret->frames, ret->nframes);
	}
	ret->cut = p->now.cut;
	ret->torn = !whole;
}

/* Returns the error, and the reason in why, when nothing could be read. */
static int python_dump_error(struct python_process *p, char why[PYTHON_WHY_MAX])
{
	uint64_t word;
	int err;

	errno = 0;
	if (p->read(p->ctx, &(struct python_range){p->place.runtime, &word, sizeof(word)}, 1)) {
		snprintf(why, PYTHON_WHY_MAX, "the list of threads changed at each attempt");
		return -EAGAIN;
	}
	err = errno ? proc_error(errno) : -ENODATA;
	err = err == -EFAULT ? -ENODATA : err;
	snprintf(why, PYTHON_WHY_MAX, "its memory cannot be read: %s", strerror(-err));
	return err;
}

/* Returns true if the garbage collector of the interpreter runs. */
static bool python_collects(struct python_process *p, const struct python_state *s)
{
	const struct python_offsets *at = &p->at;
	uint64_t address = at->runtime_collecting ? p->place.runtime + at->runtime_collecting
						  : s->interpreter + at->interpreter_collecting;
	uint32_t collecting = 0;

	return (at->runtime_collecting || at->interpreter_collecting) &&
	       python_read_one(p, address, &collecting, sizeof(collecting)) && collecting == 1;
}

/* Finds the memory of the lock: struct _gil_runtime_state, which lies in _PyRuntime before the
 * holder, or at an address that the interpreter has. */
static void python_lock(struct python_process *p, const struct python_state *s,
			struct python_thread *t)
{
	const struct python_offsets *at = &p->at;

	t->lock_at = at->runtime_holder ? p->place.runtime : 0;
	t->lock_end = t->lock_at + at->runtime_holder;
	if (at->runtime_holder || !python_read_one(p, s->interpreter + at->interpreter_gil,
						   &t->lock_at, sizeof(t->lock_at)))
		return;
	t->lock_end = t->lock_at + LOCK_BYTES;
}

static void python_thread_read(struct python_process *p, const struct python_state *s,
			       struct python_thread *t)
{
	t->holds_gil = s->address == s->holder;
	t->holder = s->holder;
	if (!t->holds_gil)
		python_lock(p, s, t);
	t->collects = t->holds_gil && python_collects(p, s);
	python_thread_frames(p, s->address, t);
}

/* Begins a dump. Sets *ret to the threads, newest first, which the caller frees also after an
 * error. Returns their number, or an error of python_dump(). */
static int python_dump_begin(struct python_process *p, struct python_state **ret,
			     char why[PYTHON_WHY_MAX])
{
	int n = -EAGAIN;

	*ret = malloc(THREADS_MAX * sizeof(**ret));
	if (!*ret || python_codes_trim(p)) {
		snprintf(why, PYTHON_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	p->reads = 0;
	p->tids_fresh = false;
	for (int i = 0; i < ATTEMPTS && n < 0; i++)
		n = python_threads_list(p, *ret);
	return n < 0 ? python_dump_error(p, why) : n;
}

int python_dump(struct python_process *p, struct python_thread *threads, size_t max,
		char why[PYTHON_WHY_MAX])
{
	struct python_state *states;
	int n = python_dump_begin(p, &states, why);
	int kept = n > 0 && (size_t)n > max ? (int)max : n;

	for (int i = 0; i < kept; i++) {
		const struct python_state *s = &states[n - 1 - i];

		memset(&threads[i], 0, offsetof(struct python_thread, frames));
		python_thread_identify(p, s->address, &threads[i]);
		python_thread_read(p, s, &threads[i]);
	}
	free(states);
	return kept;
}

/* Reads the values that identify a thread. Returns false if its memory cannot be read. */
static bool python_known_read(struct python_process *p, uint64_t state, struct python_known *ret)
{
	const struct python_offsets *at = &p->at;
	struct python_range ranges[] = {{state + at->thread_interpreter, &ret->interpreter, 8},
					{state + at->thread_pthread, &ret->pthread, 8},
					{state + at->thread_native, &ret->native, 8}};

	ret->state = state;
	return python_read(p, ranges, at->thread_native ? 3 : 2);
}

/* Reads the stack of the thread that was read last, without reading the list of threads. Returns
 * false if thread tid is another one, or no longer has the same PyThreadState. */
static bool python_dump_known(struct python_process *p, pid_t tid, struct python_thread *ret)
{
	const struct python_known *known = &p->known;
	struct python_known now = {.tid = tid};
	struct python_state s = {.address = known->state, .interpreter = known->interpreter};

	p->reads = 0;
	if (!tid || known->tid != tid || python_codes_trim(p) ||
	    !python_known_read(p, known->state, &now) || now.interpreter != known->interpreter ||
	    now.pthread != known->pthread || now.native != known->native)
		return false;
	memset(ret, 0, offsetof(struct python_thread, frames));
	ret->tid = tid;
	ret->pthread = known->pthread;
	s.holder = python_holder(p, s.interpreter);
	python_thread_read(p, &s, ret);
	return true;
}

int python_dump_thread(struct python_process *p, pid_t tid, struct python_thread *ret,
		       char why[PYTHON_WHY_MAX])
{
	struct python_state *states;
	int n, err;

	if (python_dump_known(p, tid, ret))
		return 0;
	p->known.tid = 0;
	n = python_dump_begin(p, &states, why);
	err = n < 0 ? n : -ENOENT;
	for (int i = n - 1; i >= 0 && err == -ENOENT; i--) {
		memset(ret, 0, offsetof(struct python_thread, frames));
		python_thread_identify(p, states[i].address, ret);
		if (ret->tid != tid)
			continue;
		python_thread_read(p, &states[i], ret);
		if (python_known_read(p, states[i].address, &p->known))
			p->known.tid = tid;
		err = 0;
	}
	free(states);
	if (err == -ENOENT)
		snprintf(why, PYTHON_WHY_MAX, "no Python thread %d", (int)tid);
	return err;
}

bool python_dump_holder(struct python_process *p, struct python_thread *t)
{
	uint64_t holder = t->holds_gil ? 0 : t->holder;
	pid_t waits = t->tid;

	memset(t, 0, offsetof(struct python_thread, frames));
	if (!holder)
		return false;
	python_thread_identify(p, holder, t);
	if (!t->tid || t->tid == waits)
		return false;
	python_thread_frames(p, holder, t);
	return true;
}
