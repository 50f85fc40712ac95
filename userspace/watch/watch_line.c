/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/base/proc_file.h"
#include "userspace/identity/blocked_call.h"
#include "userspace/python/python_stack.h"

/* Limit of processes whose data is kept between requests. */
#define KEPT	  64
#define CPU_SHARE 125 /* a request may use 1/125 of its duration as CPU time */
/* Pause (ns) before a process that could not be read is read again: RETRY_FIRST_NS at first, twice
 * as long after each failure, at most RETRY_LAST_NS. */
#define RETRY_FIRST_NS 1000000000ull
#define RETRY_LAST_NS  64000000000ull
#define US	       1000ull

/* Data about a process, which the helper process keeps from one request to the next. */
struct line_process {
	pid_t pid;		       /* 0: unused */
	struct python_process *python; /* NULL: the process could not be read */
	uint64_t used_ns, retry_ns, wait_ns;
};

static struct line_process line_processes[KEPT];

/* ---- processes ------------------------------------------------------------------------------- */

static void line_process_fail(struct line_process *p, uint64_t now_ns)
{
	python_close(p->python);
	p->python = NULL;
	p->wait_ns = p->wait_ns ? 2 * p->wait_ns : RETRY_FIRST_NS;
	p->wait_ns = p->wait_ns < RETRY_LAST_NS ? p->wait_ns : RETRY_LAST_NS;
	p->retry_ns = now_ns + p->wait_ns;
}

/* Returns the entry of a process. If there is none, the entry that was not used for longest is
 * reused. */
static struct line_process *line_process(pid_t pid)
{
	struct line_process *p = line_processes;

	for (int i = 0; i < KEPT; i++) {
		if (line_processes[i].pid == pid)
			return &line_processes[i];
		p = line_processes[i].used_ns < p->used_ns ? &line_processes[i] : p;
	}
	python_close(p->python);
	*p = (struct line_process){.pid = pid};
	return p;
}

/* Reads the Python stack of a thread. Returns false if the stack cannot be read now. */
static bool line_read(pid_t pid, pid_t tid, struct python_thread *ret)
{
	struct line_process *p = line_process(pid);
	uint64_t now_ns = clock_mono_ns();
	char why[PYTHON_WHY_MAX];
	int err;

	p->used_ns = now_ns;
	if (!p->python && now_ns < p->retry_ns)
		return false;
	if (!p->python && python_open(pid, &p->python, why)) {
		p->python = NULL;
		line_process_fail(p, now_ns);
		return false;
	}
	err = python_dump_thread(p->python, tid, ret, why);
	if (err && err != -EAGAIN)
		line_process_fail(p, now_ns);
	if (!err)
		p->wait_ns = 0;
	return !err && !ret->torn;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool line_in_package(const struct python_frame *f)
{
	return strstr(f->file, "-packages/");
}

/* Returns true for code of the user: neither the standard library nor a package. */
static bool line_is_own(const struct python_frame *f)
{
	return *f->file != '<' && !strstr(f->file, "/lib/python") && !line_in_package(f);
}

/* Returns the index of the innermost frame in the user's own code; nframes if there is none. */
static uint32_t line_own(const struct python_thread *t)
{
	uint32_t i = 0;

	while (i < t->nframes && !line_is_own(&t->frames[i]))
		i++;
	return i;
}

static const char *line_file(const struct python_frame *f)
{
	const char *name = strrchr(f->file, '/');

	return name ? name + 1 : f->file;
}

/* Returns true for code of a package whose path looks like that of a data loader. */
static bool line_is_loader(const struct python_frame *f)
{
	static const char *const parts[] = {"/data/", "/datasets/", "dataload", "data_load"};
	const char *path = strstr(f->file, "-packages/");

	for (size_t i = 0; path && i < sizeof(parts) / sizeof(*parts); i++) {
		if (strstr(path, parts[i]))
			return true;
	}
	return false;
}

static void line_set(struct gp_line *ret, const struct python_thread *t)
{
	const struct python_frame *f = t->frames;
	uint32_t own = line_own(t);

	ret->flags |= own ? 0 : GP_LINE_OWN;
	for (uint32_t i = 0; i < t->nframes; i++) {
		if (line_in_package(&f[i]))
			ret->flags |= i < own ? GP_LINE_PACKAGE : GP_LINE_CALLED;
		ret->flags |= line_is_loader(&f[i]) ? GP_LINE_INPUT : 0;
	}
	snprintf(ret->inner_file, sizeof(ret->inner_file), "%s", line_file(f));
	snprintf(ret->inner_function, sizeof(ret->inner_function), "%s", f->function);
	ret->inner_line = f->line > 0 ? (uint32_t)f->line : 0;
	if (own == t->nframes)
		return;
	snprintf(ret->file, sizeof(ret->file), "%s", line_file(&f[own]));
	snprintf(ret->function, sizeof(ret->function), "%s", f[own].function);
	ret->line = f[own].line > 0 ? (uint32_t)f[own].line : 0;
}

/* Adds the thread that holds the interpreter's lock to *ret, the sample of thread *t that waits for
 * it. Overwrites *t. */
static void line_set_holder(struct python_process *p, struct gp_line *ret, struct python_thread *t)
{
	const struct python_frame *f;
	uint32_t own;

	if (!python_dump_holder(p, t))
		return;
	ret->holder = (uint32_t)t->tid;
	own = line_own(t);
	if (t->torn || own == t->nframes)
		return;
	f = &t->frames[own];
	snprintf(ret->holder_file, sizeof(ret->holder_file), "%s", line_file(f));
	snprintf(ret->holder_function, sizeof(ret->holder_function), "%s", f->function);
	ret->holder_line = f->line > 0 ? (uint32_t)f->line : 0;
}

static size_t line_frame_text(char *out, size_t len, const struct python_frame *f)
{
	return (size_t)snprintf(out, len, "%s (%s:%d)", f->function, line_file(f), f->line);
}

/* Writes as many frames as fit, from the innermost one, and the innermost frame in the user's own
 * code. */
static void line_stack_text(char *out, size_t len, const struct python_thread *t)
{
	char own[2 * PYTHON_TEXT_MAX + 32] = "", one[sizeof(own)];
	uint32_t i, mine = line_own(t);
	size_t at = 0, own_len;

	if (mine < t->nframes)
		line_frame_text(own, sizeof(own), &t->frames[mine]);
	own_len = *own ? strlen(own) + strlen(" < ... < ") : 0;
	*out = '\0';
	for (i = 0; i < t->nframes; i++) {
		size_t n = line_frame_text(one, sizeof(one), &t->frames[i]) + strlen(" < ");

		if (at + n + (i < mine ? own_len : 0) >= len)
			break;
		at += (size_t)snprintf(out + at, len - at, "%s%s", at ? " < " : "", one);
	}
	if (*own && i <= mine)
		snprintf(out + at, len - at, "%s%s",
			 !at	    ? ""
			 : i < mine ? " < ... < "
				    : " < ",
			 own);
}

/* ---- the state of a thread ------------------------------------------------------------------- */

/* Returns true for select(2) and pselect6(2). Without descriptors these calls only sleep: CPython
 * up to 3.10 uses them for time.sleep(). */
static bool line_selects(long number)
{
#ifdef __NR_select
	if (number == __NR_select)
		return true;
#endif
	return number == __NR_pselect6;
}

/* Reads the state of a thread from /proc/PID/task/TID/syscall: "running", "-1 SP PC" outside of
 * a call, or "NUMBER ARG... SP PC". *ret_futex: address of the futex that the thread waits for,
 * or 0. */
static enum gp_line_state line_state(pid_t pid, pid_t tid, uint64_t *ret_futex)
{
	char path[32], text[256], *end;
	const char *name;
	long number;

	*ret_futex = 0;
	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	if (proc_slurp("", pid, path, text, sizeof(text)) <= 0)
		return GP_LINE_UNKNOWN;
	if (!strncmp(text, "running", 7))
		return GP_LINE_RUNS;
	if (!isdigit((unsigned char)*text))
		return GP_LINE_WAITS;
	number = strtol(text, &end, 10);
	if (syscall_kind(number, &name) == SYSCALL_SLEEP ||
	    (line_selects(number) && !strtoull(end, NULL, 16)))
		return GP_LINE_SLEEPS;
	if (number == __NR_futex)
		*ret_futex = strtoull(end, NULL, 16);
	return GP_LINE_WAITS;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t line_random(uint64_t *state) /* xorshift; *state is not 0 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void line_sample_take(const struct line_target *of, struct python_thread *t, bool stack,
			     struct line_reply *ret)
{
	struct line_sample *s = &ret->line[ret->nlines];
	struct line_stack *k = &ret->stack[ret->nstacks];
	uint64_t futex;

	*s = (struct line_sample){.pid = (uint32_t)of->pid, .tid = (uint32_t)of->tid};
	s->line.at_ns = clock_mono_ns();
	s->line.state = (uint16_t)line_state(of->pid, of->tid, &futex);
	if (!line_read(of->pid, of->tid, t) || !t->nframes)
		return;
	s->line.span_us = of->fast ? of->span_us / LINE_ROUNDS : of->span_us;
	s->line.flags = (t->holds_gil ? GP_LINE_GIL : 0) | (t->collects ? GP_LINE_COLLECT : 0);
	if (futex && futex >= t->lock_at && futex < t->lock_end)
		s->line.flags |= GP_LINE_LOCKED;
	line_set(&s->line, t);
	ret->nlines++;
	if (stack) {
		*k = (struct line_stack){.pid = (uint32_t)of->pid, .tid = (uint32_t)of->tid};
		k->stack.frames = t->nframes;
		line_stack_text(k->stack.text, sizeof(k->stack.text), t);
		ret->nstacks++;
	}
	if (s->line.flags & GP_LINE_LOCKED)
		line_set_holder(line_process(of->pid)->python, &s->line, t);
}

static void line_wait(uint64_t until_ns)
{
	struct timespec t = {.tv_sec = (time_t)(until_ns / 1000000000ull),
			     .tv_nsec = (long)(until_ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Takes the samples of one round: waits until at_ns, a random instant of the round, then samples
 * one process after the other. once: also samples processes that are sampled only once in a
 * request. */
static void line_round(const struct line_request *r, bool once, uint64_t at_ns,
		       struct python_thread *t, struct line_reply *ret)
{
	bool waited = false;

	for (uint32_t i = 0; i < r->count && i < LINE_PROCESSES; i++) {
		if (!r->of[i].fast && !once)
			continue;
		if (!waited)
			line_wait(at_ns);
		waited = true;
		line_sample_take(&r->of[i], t, once && r->of[i].stack, ret);
	}
}

ssize_t watch_line_there(const void *arg, void *ret, size_t cap)
{
	const struct line_request *r = arg;
	struct line_reply *reply = ret;
	uint64_t begin_ns = clock_mono_ns(), cpu_ns = clock_thread_ns(), state = r->seed | 1,
		 length_ns = r->length_us * US, part_ns = length_ns / LINE_ROUNDS;
	struct python_thread *t = malloc(sizeof(*t));
	uint64_t only;

	if (cap < sizeof(*reply) || !t) {
		free(t);
		return -ENOMEM;
	}
	reply->nlines = reply->nstacks = 0;
	/* Processes that are sampled once are sampled together, in one round chosen at random. This
	 * costs half as much as a separate wakeup for each. */
	only = line_random(&state) % LINE_ROUNDS;
	for (uint64_t i = 0; i < LINE_ROUNDS; i++) {
		uint64_t at_ns = begin_ns + part_ns * i + line_random(&state) % (part_ns | 1);
		uint32_t before = reply->nlines;

		line_round(r, i == only, at_ns, t, reply);
		if (reply->nlines != before && clock_thread_ns() - cpu_ns > length_ns / CPU_SHARE)
			break;
	}
	free(t);
	return sizeof(*reply);
}
