/* SPDX-License-Identifier: Apache-2.0 */
/* rank_examine.c - examinations of the training thread and of the data loader's workers: decides
 * when one is needed, and keeps the results. */
#include "userspace/model/rank/rank_private.h"

/* While training waits for input, the workers of its data loader are examined again after this
 * time. */
#define WORKERS_AGAIN_NS 600000000000ull

int rank_examined(struct rank *r, const struct event *ev)
{
	struct examination *e = r->examination;

	if (ev->rec->kind == GP_KIND_waited) {
		if (e)
			examination_wait(e, ev);
		return 0;
	}
	if (!e)
		e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	if (examination_begin(e, ev) || r->examination)
		r->examination = e;
	else
		free(e);
	return 0;
}

int rank_worker_examined(struct rank *r, const struct event *ev)
{
	struct examination *e = r->worker_examination, *began;
	enum gp_wait wait;
	char text[160];

	if (ev->rec->kind == GP_KIND_waited) {
		if (e)
			examination_wait(e, ev);
		return 0;
	}
	began = calloc(1, sizeof(*began));
	if (!began)
		return -ENOMEM;
	if (!examination_begin(began, ev) ||
	    (e && e->from_ns == began->from_ns &&
	     examination_blocked(text, sizeof(text), e, false, &wait) >=
		     examination_blocked(text, sizeof(text), began, false, &wait))) {
		free(began);
		return 0;
	}
	free(e);
	r->worker_examination = began;
	return 0;
}

void rank_instead(struct rank *r, const struct event *ev, const struct rank *other)
{
	bool known = other && other->member.job_key;
	bool own = known && other->member.job_key == r->member.job_key;

	if (r->examination)
		examination_instead(
			r->examination, ev,
			own || (known && other->trainer) ? job_name_of(&other->member) : NULL, own);
}

/* Returns true if the training thread was not examined since from_ns. */
static bool rank_examine_due(const struct rank *r, uint64_t from_ns)
{
	return !r->examination || r->examination->from_ns < from_ns;
}

bool rank_workers_due(const struct rank *r, uint64_t now_ns)
{
	const struct examination *e = r->worker_examination;

	return r->alive && r->trainer && rank_starved(r, now_ns) &&
	       (!e || now_ns - e->from_ns >= WORKERS_AGAIN_NS);
}

bool rank_unexplained(const struct rank *r, uint64_t now_ns, uint32_t *ret_tid)
{
	struct change_view v;
	uint64_t since_ns;

	if (!r->alive || !r->trainer || !r->hang.tid)
		return false;
	*ret_tid = r->hang.tid;
	if (rank_silent(r, now_ns, ret_tid, &since_ns))
		return rank_examine_due(r, since_ns);
	for (uint32_t i = 0; i < r->nloops; i++) {
		if (!r->loops[i]->slow || !change_before_ns(r->loops[i]->change))
			continue;
		change_view(r->loops[i]->change, &v);
		if (rank_examine_due(r, v.onset_ns))
			return true;
	}
	return false;
}
