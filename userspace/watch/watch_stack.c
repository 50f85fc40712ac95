/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/helper.h"
#include "userspace/python/python_stack.h"

#define PROCESSES_MAX 16 /* limit of processes whose stacks are read by one request */
/* Limit of threads of a process among which the training thread is searched */
#define THREADS_MAX 64
#define PERIOD_NS   5000000000ull /* time between two requests */
#define LATE_NS	    4000000000ull /* a request that takes longer is given up */

struct stack_request {
	uint32_t count;
	struct {
		pid_t pid, tid;
	} of[PROCESSES_MAX];
};

struct stack_reply {
	uint32_t count;
	struct {
		uint32_t pid, tid;
		struct gp_stack stack;
	} of[PROCESSES_MAX];
};

/* Reader of Python stacks, and its last request */
struct stacks {
	struct helper *helper;
	struct stack_request request;
	uint64_t asked_ns; /* time of the last request to the helper process; 0: never */
	bool waiting;	   /* for the answer to the last request */
};

int stacks_new(struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int err = s ? helper_new(&s->helper, sizeof(struct stack_reply)) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	if (s->waiting)
		helper_drop(s->helper);
	helper_free(s->helper);
	free(s);
}

/* ---- in the helper process ------------------------------------------------------------------- */

static size_t stack_frame_text(char *out, size_t len, const struct python_frame *f)
{
	const char *name = strrchr(f->file, '/');

	return (size_t)snprintf(out, len, "%s (%s:%d)", f->function, name ? name + 1 : f->file,
				f->line);
}

/* Returns true for code that the user wrote: neither the standard library nor a package. */
static bool stack_frame_is_own(const struct python_frame *f)
{
	return *f->file != '<' && !strstr(f->file, "/lib/python") && !strstr(f->file, "-packages/");
}

/* Writes the innermost frames that fit, and the innermost one of the user's own code. */
static void stack_text(char *out, size_t len, const struct python_thread *t)
{
	char own[2 * PYTHON_TEXT_MAX + 32] = "", one[sizeof(own)];
	size_t at = 0, own_len;
	uint32_t i, mine = 0;

	while (mine < t->nframes && !stack_frame_is_own(&t->frames[mine]))
		mine++;
	if (mine < t->nframes)
		stack_frame_text(own, sizeof(own), &t->frames[mine]);
	own_len = *own ? strlen(own) + strlen(" < ... < ") : 0;
	*out = '\0';
	for (i = 0; i < t->nframes; i++) {
		size_t n = stack_frame_text(one, sizeof(one), &t->frames[i]) + strlen(" < ");

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

static int stack_read(pid_t pid, pid_t tid, struct python_thread *threads, struct gp_stack *ret)
{
	const struct python_thread *t = threads;
	char why[PYTHON_WHY_MAX];
	struct python_process *p;
	int n = python_open(pid, &p, why);

	if (n)
		return n;
	n = python_dump(p, threads, THREADS_MAX, why);
	for (int i = 0; i < n; i++)
		t = threads[i].tid == tid ? &threads[i] : t;
	if (n > 0 && !t->torn && t->nframes) {
		ret->frames = t->nframes;
		stack_text(ret->text, sizeof(ret->text), t);
	} else if (n >= 0) {
		n = -ENODATA;
	}
	python_close(p);
	return n < 0 ? n : 0;
}

static ssize_t watch_stack_there(const void *arg, void *ret, size_t cap)
{
	const struct stack_request *request = arg;
	struct stack_reply *reply = ret;
	struct python_thread *threads = calloc(THREADS_MAX, sizeof(*threads));

	if (cap < sizeof(*reply) || !threads) {
		free(threads);
		return -ENOMEM;
	}
	memset(reply, 0, sizeof(*reply));
	for (uint32_t i = 0; i < request->count && i < PROCESSES_MAX; i++) {
		struct gp_stack stack = {0};

		if (stack_read(request->of[i].pid, request->of[i].tid, threads, &stack))
			continue;
		reply->of[reply->count].pid = (uint32_t)request->of[i].pid;
		reply->of[reply->count].tid = (uint32_t)request->of[i].tid;
		reply->of[reply->count++].stack = stack;
	}
	free(threads);
	return sizeof(*reply);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void stacks_answer(struct stacks *s, struct journal *j)
{
	const void *ret;
	ssize_t n = helper_answer(s->helper, 0, &ret);
	struct stack_reply reply;

	if (n == -EAGAIN && clock_mono_ns() - s->asked_ns <= LATE_NS)
		return;
	s->waiting = false;
	if (n == -EAGAIN)
		helper_drop(s->helper);
	if (n != sizeof(reply))
		return;
	memcpy(&reply, ret, sizeof(reply));
	for (uint32_t i = 0; i < reply.count && i < PROCESSES_MAX; i++) {
		struct gp_stack *own = journal_record(j, GP_KIND_stack, reply.of[i].pid, 0);

		if (!own)
			return;
		*own = reply.of[i].stack;
		((struct gp_rec *)own - 1)->tid = reply.of[i].tid;
	}
}

static void stacks_on_silent(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns)
{
	struct stack_request *request = ctx;

	(void)since_ns;
	if (request->count == PROCESSES_MAX)
		return;
	request->of[request->count].pid = (pid_t)pid;
	request->of[request->count++].tid = (pid_t)tid;
}

void stacks_tick(struct stacks *s, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();

	if (s->waiting)
		stacks_answer(s, j);
	if (s->waiting || (s->asked_ns && now_ns - s->asked_ns < PERIOD_NS))
		return;
	s->request = (struct stack_request){0};
	output_silent(out, stacks_on_silent, &s->request);
	if (!s->request.count ||
	    helper_ask(s->helper, watch_stack_there, &s->request, sizeof(s->request)))
		return;
	s->asked_ns = now_ns;
	s->waiting = true;
}
