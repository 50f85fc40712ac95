/* SPDX-License-Identifier: Apache-2.0 */
/* rank_line.c - the Python lines that the training thread of a rank executes. They show which lines
 * explain a slowdown, and where the time outside of phases goes. When a hang of the job is
 * reported, the line of each rank is listed. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

/* Lines are shown only if more than this share of the time is in no phase. */
#define ELSE_MIN 0.2
/* A loop may be slow if its last steps, SUSPECT_NS (ns) in all, took SUSPECT_TIMES as long as
 * usual. */
#define SUSPECT_NS    2000000000ull
#define SUSPECT_TIMES 1.2
/* With fewer samples in a minute, the shares of the garbage collector and of data loaders are not
 * shown: with 50 samples, a share of 10 % has an error of 4 %. */
#define SHARE_SAMPLES 50
/* Longest wait for input (ns) that one sample can represent. */
#define INPUT_SPAN_NS 2000000000ull
/* Number of first samples that are taken more often, so that the usual distribution of lines is
 * known soon. */
#define FIRST_SAMPLES 100
/* The training thread is sampled more often if it has ended no step for GAP_LEAST_NS and for
 * GAP_STEPS ideal steps, but not for longer than GAP_MOST_NS: it may save a checkpoint or
 * evaluate. */
#define GAP_LEAST_NS 500000000ull
#define GAP_MOST_NS  60000000000ull
#define GAP_STEPS    5

struct rank_lines {
	struct lines *lines;
	/* step_ns: time in steps; else_ns: the part of step_ns in no phase. [0]: in the present
	 * half minute; [1]: in the previous one. */
	uint64_t half_ns; /* begin of the present half minute */
	uint64_t step_ns[2], else_ns[2];
};

static struct rank_lines *rank_lines_new(void)
{
	struct rank_lines *ls = calloc(1, sizeof(*ls));

	if (ls)
		ls->lines = lines_new();
	if (ls && ls->lines)
		return ls;
	free(ls);
	return NULL;
}

void rank_lines_free(struct rank_lines *ls)
{
	if (ls)
		lines_free(ls->lines);
	free(ls);
}

/* If the thread was executing code of a data loader when it was sampled, counts the sample as a
 * wait for input. Does nothing if a probe reports the waits of this process. */
static void rank_line_input(struct rank *r, const struct event *ev)
{
	uint64_t at_ns = ev->line->at_ns;

	for (uint32_t i = 0; i < r->nloops; i++) {
		if (r->loops[i]->phases_known & 1u << PHASE_DATA)
			return;
	}
	if (at_ns <= ev->rec->ts_ns && ev->rec->ts_ns - at_ns < INPUT_SPAN_NS)
		rank_input_wait(
			r, more_than(at_ns, smaller_of(ev->line->span_us * 1000ull, INPUT_SPAN_NS)),
			at_ns);
}

int rank_line(struct rank *r, const struct event *ev)
{
	const struct lines_last *last;
	struct job_line mine = {.pid = r->member.pid, .rank = r->member.process.rank};

	if (!ev->rec->tid || ev->rec->tid != rank_looked_at(r))
		return 0;
	if (!r->lines)
		r->lines = rank_lines_new();
	if (!r->lines)
		return -ENOMEM;
	lines_add(r->lines->lines, ev->rec->ts_ns, ev->line,
		  r->phase && phase_saves(r->phase, ev->line->holder));
	if (ev->line->flags & GP_LINE_INPUT)
		rank_line_input(r, ev);
	last = lines_last(r->lines->lines);
	mine.waits = last->waits;
	mine.at_ns = last->at_ns;
	mine.since_ns = larger_of(last->since_ns, r->hang.progress_ns);
	snprintf(mine.text, sizeof(mine.text), "%s", last->text);
	job_line(&r->member, &mine);
	return 0;
}

/* ---- slowdowns ------------------------------------------------------------------------------- */

/* Returns true if no step has ended for a while, so that the time may be outside of steps. */
static bool rank_line_gap(const struct rank *r, uint64_t now_ns)
{
	uint64_t last_ns = 0, ideal_ns = 0, gap_ns;

	for (uint32_t i = 0; i < r->nloops; i++) {
		last_ns = larger_of(last_ns, r->loops[i]->last_end_ns);
		ideal_ns = larger_of(ideal_ns, r->loops[i]->ideal_ns);
	}
	gap_ns = more_than(now_ns, last_ns);
	return r->alive && ideal_ns && gap_ns >= GAP_LEAST_NS && gap_ns <= GAP_MOST_NS &&
	       gap_ns / GAP_STEPS >= ideal_ns;
}

bool rank_slow(const struct rank *r, uint64_t now_ns)
{
	if (r->lines && lines_count(r->lines->lines) < FIRST_SAMPLES)
		return true;
	if (rank_line_gap(r, now_ns))
		return true;
	for (uint32_t i = 0; i < r->nloops; i++) {
		const struct rank_loop *lp = r->loops[i];
		uint64_t n = smaller_of(lp->recent, SNAPSHOT_RECENT), sum_ns = 0, steps = 0;
		struct change_view v;

		if (change_before_ns(lp->change))
			return true;
		while (steps < n && sum_ns < SUSPECT_NS)
			sum_ns += lp->recent_ns[(lp->recent - ++steps) % SNAPSHOT_RECENT];
		change_view(lp->change, &v);
		if (steps && v.usual_ns &&
		    (double)sum_ns > SUSPECT_TIMES * (double)v.usual_ns * (double)steps)
			return true;
	}
	return false;
}

void rank_line_usual(const struct rank *r, uint64_t onset_ns, struct lines_sums *ret)
{
	*ret = (struct lines_sums){0};
	if (r->lines)
		lines_between(r->lines->lines, more_than(onset_ns, RANK_USUAL_NS),
			      more_than(onset_ns, RANK_ONSET_NS), false, ret);
}

/* Returns by how much a step grew in phases in which the thread waits or compiles. */
static uint64_t rank_line_waits(const struct change_view *v)
{
	static const enum phase waits[] = {PHASE_DATA, PHASE_SYNC, PHASE_COLLECTIVE, PHASE_TRANSFER,
					   PHASE_COMPILE};
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (v->parts_known & 1u << waits[i] && v->grown_ns[waits[i]] > 0)
			ns += (uint64_t)v->grown_ns[waits[i]];
	}
	return ns;
}

uint64_t rank_line_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			  uint64_t now_ns)
{
	uint64_t waits_ns = rank_line_waits(v), room_ns, end_ns = v->end_ns ? v->end_ns : now_ns;
	struct lines_top most;
	struct lines_slower grown;
	struct lines_sums since;

	if (!r->lines || !slow->causes.lost_ns)
		return 0;
	lines_between(r->lines->lines, v->onset_ns, end_ns, true, &since);
	lines_slower(r->lines->lines, &slow->usual_lines, v->before_ns, &since, v->after_ns,
		     &grown);
	room_ns = more_than(slow->causes.lost_ns, waits_ns);
	time_cause_add(&slow->causes, TIME_CAUSE_garbage_collection,
		       take_up_to(&room_ns, grown.collect_ns));
	time_cause_add(&slow->causes, TIME_CAUSE_checkpoint, take_up_to(&room_ns, grown.saved_ns));
	time_cause_add(&slow->causes, TIME_CAUSE_interpreter_lock,
		       take_up_to(&room_ns, grown.locked_ns));
	time_cause_add(&slow->causes, TIME_CAUSE_own_code, smaller_of(room_ns, grown.own_ns));
	if (slow->causes.ns[TIME_CAUSE_own_code])
		snprintf(slow->causes.line, sizeof(slow->causes.line), "%s", grown.line);
	lines_most(r->lines->lines, grown.saved_ns > grown.locked_ns ? LINES_SAVED : LINES_LOCKED,
		   v->onset_ns, end_ns, &most);
	snprintf(slow->causes.holder_line, sizeof(slow->causes.holder_line), "%s", most.line);
	most = (struct lines_top){0};
	/* Waits for locks, pipes and children are added to the causes later; they are unexplained
	 * now. */
	if (2 * grown.waits_ns >= slow->causes.ns[TIME_CAUSE_unknown] +
					  slow->causes.ns[TIME_CAUSE_network] +
					  slow->causes.ns[TIME_CAUSE_disk])
		lines_most(r->lines->lines, LINES_WAITS, v->onset_ns, end_ns, &most);
	snprintf(slow->causes.waits_line, sizeof(slow->causes.waits_line), "%s", most.line);
	return grown.waits_ns;
}

/* ---- time outside of steps ------------------------------------------------------------------- */

void rank_line_tag(struct rank *r, uint64_t from_ns, uint64_t to_ns, uint8_t tag)
{
	if (r->lines)
		lines_tag(r->lines->lines, from_ns, to_ns, tag);
}

void rank_line_tagged(const struct rank *r, uint8_t tag, struct lines_tagged *ret)
{
	*ret = (struct lines_tagged){0};
	if (r->lines)
		lines_tagged(r->lines->lines, tag, ret);
}

/* ---- time in no phase ------------------------------------------------------------------------ */

void rank_line_step(struct rank *r, const struct fact_step *fs)
{
	uint64_t ns = fs->step.end_ns - fs->step.start_ns, left_ns = ns;
	struct rank_lines *ls = r->lines;

	if (!ls || !fs->phases_known)
		return;
	if (fs->step.end_ns - ls->half_ns >= RANK_USUAL_NS / 2) {
		ls->step_ns[1] = ls->step_ns[0];
		ls->else_ns[1] = ls->else_ns[0];
		ls->step_ns[0] = ls->else_ns[0] = 0;
		ls->half_ns = fs->step.end_ns;
	}
	for (int i = 0; i < PHASE_COUNT; i++)
		take_up_to(&left_ns, fs->phase_ns[i]);
	ls->step_ns[0] += ns;
	ls->else_ns[0] += left_ns;
}

void rank_line_view(const struct rank *r, uint64_t now_ns, struct rank_view *ret)
{
	const struct rank_lines *ls = r->lines;
	struct lines_sums last;
	uint64_t step_ns;
	double room;

	if (!ls)
		return;
	lines_most(ls->lines, LINES_WAITS, more_than(now_ns, RANK_USUAL_NS), now_ns,
		   &ret->waits_at);
	lines_most(ls->lines, LINES_LOCKED, more_than(now_ns, RANK_USUAL_NS), now_ns,
		   &ret->locked_at);
	lines_most(ls->lines, LINES_SAVED, more_than(now_ns, RANK_USUAL_NS), now_ns,
		   &ret->saved_at);
	lines_where(ls->lines, more_than(now_ns, RANK_USUAL_NS), now_ns, ret->where);
	step_ns = ls->step_ns[0] + ls->step_ns[1];
	if (step_ns)
		ret->else_share = (double)(ls->else_ns[0] + ls->else_ns[1]) / (double)step_ns;
	/* if no phase is known, all time counts as time in no phase */
	room = step_ns ? ret->else_share : 1;
	for (uint32_t i = 0; i < r->nloops; i++) {
		/* if a loop is slower than usual, its causes are shown instead */
		if (rank_slow_examined(r->loops[i]))
			return;
	}
	lines_between(ls->lines, more_than(now_ns, RANK_USUAL_NS), now_ns, false, &last);
	if (last.n >= SHARE_SAMPLES) {
		ret->collect_share = (double)last.collect_ns / (double)last.ns;
		ret->input_share = (double)last.input_ns / (double)last.ns;
		ret->locked_share = (double)last.locked_ns / (double)last.ns;
		ret->saved_share = (double)last.saved_ns / (double)last.ns;
	}
	if (room <= ELSE_MIN)
		return;
	lines_top(ls->lines, &last, ret->else_lines);
	/* The shares are estimates. Limit them, so that their sum does not exceed the share of time
	 * in no phase. */
	for (int i = 0; i < LINES_TOP; i++) {
		struct lines_top *t = &ret->else_lines[i];

		t->share = t->share < room ? t->share : room;
		room -= t->share;
	}
}

/* ---- state ----------------------------------------------------------------------------------- */

void rank_lines_archive(struct archive *a, struct rank_lines **at)
{
	struct rank_lines *ls = *at = archive_object(a, *at, sizeof(*ls));

	if (!ls)
		return;
	lines_archive(a, &ls->lines);
	archive_require(a, ls->lines);
	archive_fields(a, ls, half_ns, step_ns, else_ns);
}
