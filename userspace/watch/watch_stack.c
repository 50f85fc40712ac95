/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/watch_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/helper.h"
#include "userspace/watch/watch_line.h"

/* Limit of training processes in a second; the Python lines of those beyond it are not sampled. */
#define PROCESSES_MAX 1024
/* Time between two reads of the whole stack of a silent process. */
#define STACK_NS 5000000000ull
#define LATE_NS	 4000000000ull	/* a request that takes longer is given up */
#define PAUSE_NS 10000000000ull /* pause after a request that was given up */
/* Time over which the samples of a request are spread, in µs: the answer has to arrive before the
 * next second begins. */
#define LENGTH_US 970000u
#define SECOND_US 1000000u

struct stacks {
	struct helper *helper;
	struct line_request request;
	/* The processes that train in this second, and the index of the one to sample first. */
	struct line_target all[PROCESSES_MAX];
	uint32_t count, next;
	uint64_t stack_ns; /* when whole stacks were requested last; 0: never */
	uint64_t asked_ns; /* when the last request was sent to the helper process; 0: never */
	uint64_t pause_ns; /* no request is sent before this time */
	bool waiting;	   /* the helper process has not answered the request yet */
};

int stacks_new(struct stacks **ret)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int err = s ? helper_new(&s->helper, sizeof(struct line_reply)) : -ENOMEM;

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

/* ---- answers --------------------------------------------------------------------------------- */

static void stacks_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t tid,
			  const void *payload, size_t len)
{
	void *own = journal_record(j, kind, pid, 0);

	if (!own)
		return;
	memcpy(own, payload, len);
	((struct gp_rec *)own - 1)->tid = tid;
}

static void stacks_answer(struct stacks *s, struct journal *j)
{
	uint64_t now_ns = clock_mono_ns();
	const struct line_reply *reply;
	const void *ret;
	ssize_t n = helper_answer(s->helper, 0, &ret);

	if (n == -EAGAIN && now_ns - s->asked_ns <= LATE_NS)
		return;
	s->waiting = false;
	if (n == -EAGAIN) {
		helper_drop(s->helper);
		s->pause_ns = now_ns + PAUSE_NS;
	}
	if (n != sizeof(*reply))
		return;
	reply = ret;
	for (uint32_t i = 0; i < reply->nlines && i < LINE_PROCESSES * LINE_ROUNDS; i++) {
		const struct line_sample *l = &reply->line[i];

		stacks_record(j, GP_KIND_line, l->pid, l->tid, &l->line, sizeof(l->line));
	}
	for (uint32_t i = 0; i < reply->nstacks && i < LINE_PROCESSES; i++) {
		const struct line_stack *k = &reply->stack[i];

		stacks_record(j, GP_KIND_stack, k->pid, k->tid, &k->stack, sizeof(k->stack));
	}
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct line_target *stacks_target(struct stacks *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->count; i++) {
		if (s->all[i].pid == (pid_t)pid)
			return &s->all[i];
	}
	return NULL;
}

static void stacks_on_trainer(void *ctx, uint32_t pid, uint32_t tid)
{
	struct stacks *s = ctx;

	if (s->count < PROCESSES_MAX)
		s->all[s->count++] = (struct line_target){.pid = (pid_t)pid, .tid = (pid_t)tid};
}

static void stacks_on_slow(void *ctx, uint32_t pid, uint32_t tid)
{
	struct line_target *t = stacks_target(ctx, pid);

	(void)tid;
	if (t)
		t->fast = true;
}

static void stacks_on_silent(void *ctx, uint32_t pid, uint32_t tid, uint64_t since_ns)
{
	struct line_target *t = stacks_target(ctx, pid);

	(void)tid;
	(void)since_ns;
	if (t)
		t->stack = true;
}

/* Chooses the processes to sample in this second. If there are too many for one request, they take
 * turns. */
static void stacks_choose(struct stacks *s, uint64_t now_ns)
{
	struct line_request *r = &s->request;
	uint32_t turns = (s->count + LINE_PROCESSES - 1) / LINE_PROCESSES;
	bool stacks = !s->stack_ns || now_ns - s->stack_ns >= STACK_NS, any = false;

	*r = (struct line_request){
		.seed = now_ns * 0x9e3779b97f4a7c15ull,
		.length_us = LENGTH_US,
		.count = s->count < LINE_PROCESSES ? s->count : LINE_PROCESSES,
	};
	for (uint32_t i = 0; i < r->count; i++) {
		r->of[i] = s->all[(s->next + i) % s->count];
		r->of[i].span_us = turns * SECOND_US;
		r->of[i].stack &= stacks;
		any |= r->of[i].stack;
	}
	s->next = turns > 1 ? (s->next + r->count) % s->count : 0;
	s->stack_ns = any && turns == 1 ? now_ns : s->stack_ns;
}

void stacks_tick(struct stacks *s, struct journal *j, const struct output *out)
{
	uint64_t now_ns = clock_mono_ns();

	if (s->waiting)
		stacks_answer(s, j);
	if (s->waiting || now_ns < s->pause_ns)
		return;
	s->count = 0;
	output_trainers(out, stacks_on_trainer, s);
	if (!s->count)
		return;
	output_slow(out, stacks_on_slow, s);
	output_silent(out, stacks_on_silent, s);
	stacks_choose(s, now_ns);
	if (helper_ask(s->helper, watch_line_there, &s->request, sizeof(s->request)))
		return;
	s->asked_ns = now_ns;
	s->waiting = true;
}
