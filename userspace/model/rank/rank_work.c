/* SPDX-License-Identifier: Apache-2.0 */
/* rank_work.c - measures the floating-point operations of a step (docs/operations.md). The probes
 * of operators are attached while a rank has a struct rank_work: from when its steps are certain
 * until some of them were measured. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/grow.h"
#include "userspace/model/signal/operation.h"

#define WORK_STEPS   4 /* steps that are measured; their mean is the result */
#define WORK_OPS_MAX 65536
#define WORK_THREADS 8
/* A step may be incomplete if it began less than this time (ns) after the first operator, as the
 * probes may be attached one after the other. */
#define WORK_ATTACH_NS 5000000000ull
/* Losses of records are reported up to this time (ns) after the records. */
#define WORK_SETTLE_NS 3000000000ull
/* After this time (ns) the steps that were measured until then are enough. If there is none, the
 * first one is waited for up to WORK_LONGEST_NS, as long as no step was unusable. */
#define WORK_WITHIN_NS	60000000000ull
#define WORK_LONGEST_NS 900000000000ull
#define WORK_AGAIN_NS	3600000000000ull /* time between two measurements */
#define WORK_UNUSABLE	3		 /* steps without a result after which none is expected */

struct rank_work {
	struct tensor_places places;
	uint64_t since_ns;	/* begin of the measurement */
	uint64_t first_ns;	/* time of the first operator; 0: none yet */
	uint64_t done_ns;	/* when the last step was measured; 0: more are needed */
	uint64_t lost;		/* rank.lost at the begin */
	struct operations *sum; /* of the measured steps; NULL: none yet */
	uint32_t steps, unusable;
	bool skipped; /* a whole step was not used: the probes may not all have been attached */
	bool spoiled;
	/* Hashes of the first probe whose operations in a measured step are not known completely,
	 * and of the first one that made a step unusable; 0: none. */
	uint32_t uncounted, unusable_by;
	/* Thread of a backward pass whose end was not seen yet; 0: none. Times of the last pass, of
	 * the last change of the grad mode, and of the last one that makes no sense in a pass. */
	uint32_t backward_tid;
	uint64_t backward_ns, grad_ns, strange_ns;
	uint32_t again_tid[WORK_THREADS]; /* threads that compute again within the pass; 0: free */
	uint32_t nops, ops_cap;
	struct work_op {
		uint64_t ts_ns, operations;
		uint32_t uncounted; /* the probe, if it has more operations; 0: exact */
		uint8_t type, kind; /* enum operation_type, enum operation_kind */
		bool unknown;	    /* the step has no figure */
		bool again;	    /* a backward pass computes it again */
	} * ops;		    /* since the last step, in order of processing */
};

static void rank_work_end(struct rank *r, uint64_t again_ns)
{
	rank_work_free(r->work);
	r->work = NULL;
	r->work_again_ns = again_ns;
}

void rank_work_free(struct rank_work *w)
{
	if (!w)
		return;
	free(w->ops);
	free(w->sum);
	free(w);
}

bool rank_work_wants(const struct rank *r)
{
	return r->work && !r->work->done_ns && !r->work->spoiled;
}

static uint32_t *rank_work_again(struct rank_work *w, uint32_t tid)
{
	for (int i = 0; i < WORK_THREADS; i++)
		if (w->again_tid[i] == tid)
			return &w->again_tid[i];
	return NULL;
}

void rank_work_backward(struct rank *r, uint32_t tid, uint64_t ts_ns)
{
	struct rank_work *w = r->work;

	if (!w)
		return;
	w->backward_tid = tid;
	w->backward_ns = ts_ns;
	memset(w->again_tid, 0, sizeof(w->again_tid));
}

/* A backward pass computes without gradients. Where it sets them on, it computes a part of the
 * forward pass again, until they are off. Setting them off that were not set on means that the
 * thread has left the pass, such as for the optimizer. */
static void rank_work_grad_mode(struct rank_work *w, const struct event *ev)
{
	uint32_t tid = ev->rec->tid, *again = rank_work_again(w, tid);
	bool on = ev->operation->value[0] != 0;

	w->grad_ns = ev->rec->ts_ns;
	if (!w->backward_tid || !tid)
		return;
	if (on && !again)
		again = rank_work_again(w, 0);
	else if (on)
		again = NULL;
	if (on && !again)
		w->strange_ns = ev->rec->ts_ns;
	else if (again)
		*again = on ? tid : 0;
	else if (tid == w->backward_tid)
		w->backward_tid = 0;
}

int rank_work_operation(struct rank *r, const struct event *ev)
{
	const struct formula *f = model_probe_formula_find(r->member.env->probes, ev->rec->probe);
	struct rank_work *w = r->work;
	struct work_op *op;
	int place;

	if (!f || !rank_work_wants(r))
		return 0;
	if (f->grad_mode) {
		rank_work_grad_mode(w, ev);
		return 0;
	}
	if (!w->first_ns)
		w->first_ns = ev->rec->ts_ns;
	op = w->nops < WORK_OPS_MAX ? grow_add(w->ops, w->nops, w->ops_cap, WORK_OPS_MAX) : NULL;
	if (!op) {
		w->spoiled = true;
		return w->nops < WORK_OPS_MAX ? -ENOMEM : 0;
	}
	tensor_places_learn(&w->places, f, ev->operation);
	place = tensor_place(&w->places);
	*op = (struct work_op){
		.ts_ns = ev->rec->ts_ns,
		.uncounted = f->bound ? ev->rec->probe : 0,
		.type = (uint8_t)tensor_type(f, ev->operation, place),
		.kind = f->kind,
		.again = w->backward_tid && ev->rec->tid && rank_work_again(w, ev->rec->tid),
		.unknown = f->tensors && place < 0,
	};
	if (!op->unknown && formula_operations(f, ev->operation, place, &op->operations))
		op->uncounted = ev->rec->probe;
	return 0;
}

void rank_work_unsent(struct rank *r, uint32_t probe)
{
	const struct formula *f = model_probe_formula_find(r->member.env->probes, probe);
	struct rank_work *w = r->work;

	if (!w)
		return;
	if (!f || !f->bound)
		w->spoiled = true;
	else if (!w->uncounted) /* without these calls the figure is still a lower bound */
		w->uncounted = probe;
}

void rank_work_stop(struct rank *r, uint64_t now_ns)
{
	struct rank_work *w = r->work;

	if (!rank_work_wants(r))
		return;
	w->done_ns = w->steps ? now_ns : 0;
	w->spoiled = !w->steps;
}

void rank_work_step(struct rank *r, const struct step *s)
{
	struct rank_work *w = r->work;
	uint32_t left = 0, uncounted = 0;
	struct operations sum = {0};
	bool known = true;

	if (!w || !rank_work_wants(r))
		return;
	for (uint32_t i = 0; i < w->nops; i++) {
		const struct work_op *op = &w->ops[i];

		if (op->ts_ns > s->end_ns) {
			w->ops[left++] = *op;
		} else if (op->ts_ns > s->start_ns) {
			sum.type[op->type] += (double)op->operations;
			sum.kind[op->kind] += (double)op->operations;
			sum.again[op->type] += op->again ? (double)op->operations : 0;
			known &= !op->unknown;
			uncounted = uncounted ? uncounted : op->uncounted;
		}
	}
	w->nops = left;
	if (!w->first_ns || s->start_ns < w->first_ns || s->flags & STEP_NO_SAMPLE)
		return;
	if (!w->skipped && s->start_ns < w->first_ns + WORK_ATTACH_NS) {
		w->skipped = true;
		return;
	}
	if (!known || !(operations_sum(&sum) > 0)) {
		w->unusable++;
		w->unusable_by = w->unusable_by ? w->unusable_by : uncounted;
		return;
	}
	sum.again_unknown = w->grad_ns <= s->start_ns || w->backward_ns <= s->start_ns ||
			    w->strange_ns > s->start_ns;
	if (!w->sum)
		w->sum = calloc(1, sizeof(*w->sum));
	if (!w->sum)
		return;
	operations_add(w->sum, &sum, 1);
	w->uncounted = w->uncounted ? w->uncounted : uncounted;
	if (++w->steps == WORK_STEPS)
		w->done_ns = s->end_ns;
}

static bool rank_work_due(const struct rank *r, uint64_t now_ns)
{
	return r->alive && r->trainer && now_ns >= r->work_again_ns &&
	       r->loops[0]->state.state == STATE_LOCKED && r->loops[0]->state.unit == UNIT_STEP;
}

/* Ends a measurement that has waited long enough for steps. */
static void rank_work_limit(struct rank *r, uint64_t now_ns)
{
	const struct rank_work *w = r->work;
	bool wait = !w->steps && w->first_ns && w->unusable < WORK_UNUSABLE;

	if (now_ns > w->since_ns + (wait ? WORK_LONGEST_NS : WORK_WITHIN_NS))
		rank_work_stop(r, now_ns);
}

/* Returns why the measured figure is a lower bound; 0: it is exact. */
static uint32_t rank_work_uncounted(const struct rank *r)
{
	const struct rank_work *w = r->work;

	/* Kernels of other libraries, such as those of Triton, are not seen. */
	return w->uncounted ? w->uncounted : r->member.accelerated ? UNCOUNTED_ACCELERATOR : 0;
}

void rank_work_tick(struct rank *r, uint64_t now_ns)
{
	struct rank_work *w = r->work;

	if (!w && rank_work_due(r, now_ns)) {
		r->work = w = calloc(1, sizeof(*w));
		if (!w)
			return;
		w->since_ns = now_ns;
		w->lost = r->lost;
	}
	if (!w)
		return;
	rank_work_limit(r, now_ns);
	if (!w->spoiled && (!w->done_ns || now_ns < w->done_ns + WORK_SETTLE_NS))
		return;
	if (!w->spoiled && w->lost == r->lost) {
		operations_add(w->sum, w->sum, 1.0 / w->steps - 1);
		free(r->member.operations);
		r->member.operations = w->sum;
		w->sum = NULL;
		r->member.operations_steps = w->steps;
		r->member.uncounted = rank_work_uncounted(r);
	} else if (w->unusable_by && !r->member.operations) {
		r->member.uncounted = w->unusable_by;
	}
	rank_work_end(r, now_ns + WORK_AGAIN_NS);
}

void rank_work_archive(struct archive *a, struct rank *r)
{
	struct rank_work *w = r->work = archive_object(a, r->work, sizeof(*w));

	archive_field(a, r->work_again_ns);
	if (!w)
		return;
	archive_struct(a, sizeof(*w));
	archive_fields(a, w, places.tensors, places.fits, since_ns, first_ns, done_ns, lost);
	archive_fields(a, w, steps, unusable, skipped, spoiled, uncounted, unusable_by);
	archive_fields(a, w, backward_tid, backward_ns, grad_ns, strange_ns, again_tid);
	archive_require(a, w->steps <= WORK_STEPS);
	w->sum = archive_object(a, w->sum, sizeof(*w->sum));
	archive_require(a, !w->sum == !w->steps);
	if (w->sum)
		operations_archive(a, w->sum);
	archive_require(a, w->done_ns ? w->steps > 0 : w->steps < WORK_STEPS);
	archive_items(a, w->ops, w->nops, w->ops_cap, WORK_OPS_MAX);
	for (uint32_t i = 0; i < w->nops; i++) {
		archive_fields(a, &w->ops[i], ts_ns, operations, uncounted, type, kind, unknown,
			       again);
		archive_require(a, w->ops[i].type < OPERATION_TYPE_COUNT);
		archive_require(a, w->ops[i].kind < OPERATION_KIND_COUNT);
	}
}
