/* SPDX-License-Identifier: Apache-2.0 */
/* rank_stepped.c - finds out which steps a process had finished at some instant, and which steps a
 * checkpoint contains. */
#include "userspace/model/rank/rank_private.h"

#define WAIT_NS 10000000000ull

bool rank_counts(const struct rank *r)
{
	return !r->trainer && r->nloops && r->loops[0]->steps &&
	       r->loops[0]->state.unit != UNIT_STEP;
}

struct rank *rank_reference(const struct rank *r)
{
	struct job_member *reference = job_reference(&r->member);

	return reference ? rank_of(reference) : NULL;
}

uint64_t rank_step_at(const struct rank *r, uint32_t tid, uint64_t at_ns, bool *ret_known)
{
	const struct rank *from = !r->trainer && rank_reference(r) ? rank_reference(r) : r;
	const struct rank_loop *lp = from->nloops ? from->loops[0] : NULL;
	const struct rank_done *d, *oldest = NULL;
	bool unused = true;

	ret_known = ret_known ? ret_known : &unused;
	*ret_known = true;
	for (uint32_t i = 0; i < from->nloops; i++)
		if (from->loops[i]->tid == tid && from->loops[i]->steps)
			lp = from->loops[i];
	for (uint64_t i = 0; lp && (d = rank_done(lp, i)); i++) {
		if (d->from_ns <= at_ns)
			return d->number;
		oldest = d;
	}
	/* at_ns is before the first step, or before all steps that are kept */
	*ret_known = !lp || !lp->done_first;
	return oldest && oldest->number > 1 ? oldest->number - 1 : 0;
}

/* Returns the goodput at the end of a step. The step may be many steps back, if another thread
 * wrote the checkpoint. */
static uint64_t stepped_goodput(const struct rank *r, uint64_t step)
{
	const struct rank_loop *lp = r->nloops ? r->loops[0] : NULL;
	const struct rank_done *d, *found = NULL;

	for (uint64_t i = 0; lp && (!found || found->number > step) && (d = rank_done(lp, i)); i++)
		found = d;
	return found ? found->goodput_ns : job_goodput(&r->member);
}

void rank_saved(struct rank *r, uint64_t step)
{
	if (job_saved(&r->member, step, stepped_goodput(r, step)))
		r->error = -ENOMEM;
}

/* Returns the last step in a checkpoint that another thread or process wrote. The state was copied
 * after the writer was created and before it began to write. If both events are in the same step,
 * that step is returned. Otherwise it is the step in the file's name, or the step in which the
 * writer was created. *ret_estimated: the result may be wrong. */
static uint64_t rank_stepped_async_step(const struct rank *r, const struct rank_note *n,
					const struct checkpoint *k, bool *ret_estimated)
{
	const struct checkpoints *c = job_checkpoints(&r->member, false);
	uint64_t until, made = 0, last = 0, named;
	bool known;

	until = rank_step_at(r, n->span.tid, n->span.begin_ns, &known);
	*ret_estimated = true;
	if (!k || !c)
		return until;
	if (!checkpoints_before(c, k, &last) && k->born_ns &&
	    n->span.begin_ns - k->born_ns < WAIT_NS)
		made = rank_step_at(r, n->span.tid, k->born_ns, &known);
	if (made && made == until) {
		*ret_estimated = !known;
		return until;
	}
	named = checkpoint_name_number(k->path, made ? made : (last ? last : until / 2) + 1, until);
	*ret_estimated = named != until || !known;
	return named ? named : made ? made : until;
}

static struct checkpoint_span rank_stepped_note_span(const struct rank_note *n)
{
	return (struct checkpoint_span){n->pid, n->span.tid, n->span.begin_ns, n->span.end_ns};
}

const struct checkpoint *rank_files_stepped(struct rank *r, const struct rank_note *n,
					    uint64_t *ret_step, bool *ret_estimated)
{
	struct checkpoints *c = job_checkpoints(&r->member, false);
	struct checkpoint_span s = rank_stepped_note_span(n);
	const struct checkpoint *k = c ? checkpoints_of(c, &s) : NULL;
	bool known;

	if (n->span.async) {
		*ret_step = rank_stepped_async_step(r, n, k, ret_estimated);
	} else {
		*ret_step = rank_step_at(r, n->span.tid, n->span.begin_ns, &known);
		*ret_estimated = !known;
	}
	r->saved.begin_ns = s.from_ns;
	r->saved.end_ns = s.to_ns;
	r->saved.tid = s.tid;
	r->saved.step = *ret_step;
	r->saved.estimated = *ret_estimated;
	if (c)
		checkpoints_stepped(c, &s, *ret_step, *ret_estimated);
	return k;
}

void rank_files_step(struct rank *r, uint64_t from_ns, uint64_t number)
{
	struct checkpoints *c = job_checkpoints(&r->member, false);

	if (c && r->wrote_ns >= from_ns)
		checkpoints_raise(c, r->member.pid, from_ns, number);
	else
		r->wrote_ns = 0;
}
