/* SPDX-License-Identifier: Apache-2.0 */
/* rank_long.c - finds the causes of single long steps: of those that take more than twice the p99
 * while the loop is not slow. Compares the resources that the process lacked during the step (a
 * CPU, a disk...) with those that it lacked in the minute before. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/clock.h"
#include "userspace/base/number.h"

/* A step is long if it takes more than LONG_TIMES the p99 of the steps before, and LONG_LEAST_NS
 * (ns) more than the ideal step. */
#define LONG_TIMES    2
#define LONG_LEAST_NS 100000000ull
/* The lack of resources is measured once a second, so LONG_ROUND_NS (ns) before and after the step
 * are examined with it. This is done LONG_AFTER_NS (ns) after the end of the step: by then it is
 * usually known whether the step was the first of a slowdown, whose causes are found elsewhere. */
#define LONG_ROUND_NS 1000000000ull
#define LONG_AFTER_NS 20000000000ull
/* An event reports long steps that have lost at least this much time (ns). */
#define LONG_EVENT_NS 500000000ull

struct rank_long {
	/* The long steps whose causes are not known yet: the span that contains them, how many they
	 * are (0: there are none), number of the last one, and how much longer than the ideal they
	 * took. */
	uint64_t from_ns, to_ns, count, last_step, lost_ns;
	struct long_steps_view judged; /* sums of all long steps whose causes were looked for */
};

void rank_long_free(struct rank_long *l)
{
	free(l);
}

void rank_long_step(struct rank *r, const struct rank_loop *lp, const struct step *s, uint64_t ns)
{
	struct rank_long *l;

	if (lp->steps < CHANGE_LEARN || !lp->ideal_ns || ns < lp->ideal_ns + LONG_LEAST_NS ||
	    ns / LONG_TIMES < lp->ideal_ns || ns / LONG_TIMES < deviation_p99(lp->time) ||
	    change_before_ns(lp->change))
		return;
	if (!r->long_steps)
		r->long_steps = calloc(1, sizeof(*r->long_steps));
	l = r->long_steps;
	if (!l) {
		r->error = -ENOMEM;
		return;
	}
	if (!l->count)
		l->from_ns = s->start_ns;
	l->to_ns = larger_of(l->to_ns, s->end_ns);
	l->count++;
	l->last_step = s->number;
	l->lost_ns += ns - lp->ideal_ns;
}

/* Finds the causes of the long steps in a span. */
static void long_causes(const struct rank *r, const struct rank_long *l, struct time_causes *ret)
{
	uint64_t from_ns = more_than(l->from_ns, LONG_ROUND_NS), to_ns = l->to_ns + LONG_ROUND_NS;
	uint64_t usual_ns = more_than(from_ns, RANK_USUAL_NS), length_ns = to_ns - from_ns;
	struct resource_sums usual = {0}, since = {0};

	if (r->resource) {
		resource_between(r->resource, usual_ns, from_ns, &usual);
		resource_between(r->resource, from_ns, to_ns, &since);
	}
	if (r->input) {
		input_waits_between(r->input, usual_ns, from_ns, &usual.input);
		input_waits_between(r->input, from_ns, to_ns, &since.input);
	}
	time_cause_slower(ret, &usual, more_than(length_ns, l->lost_ns), &since, length_ns);
	time_cause_add_kernel(ret, &usual, more_than(length_ns, l->lost_ns), &since, length_ns);
}

static void long_event(struct rank *r, const struct rank_long *l, const struct time_causes *causes,
		       uint64_t now_ns)
{
	char why[200], lost[16];

	if (l->lost_ns < LONG_EVENT_NS || !*time_causes_text(why, sizeof(why), causes))
		return;
	clock_duration(lost, sizeof(lost), l->lost_ns);
	if (l->count == 1)
		rank_event(r, now_ns, "step %llu took %s more: %s",
			   (unsigned long long)l->last_step, lost, why);
	else
		rank_event(r, now_ns, "%llu long steps up to step %llu took %s more: %s",
			   (unsigned long long)l->count, (unsigned long long)l->last_step, lost,
			   why);
}

void rank_long_tick(struct rank *r, uint64_t now_ns)
{
	struct rank_long *l = r->long_steps;
	struct time_causes causes;

	if (!l || !l->count || now_ns < l->to_ns + LONG_AFTER_NS)
		return;
	long_causes(r, l, &causes);
	rank_line_tag(r, l->from_ns, l->to_ns, RANK_LONG_TAG);
	l->judged.count += l->count;
	l->judged.lost_ns += l->lost_ns;
	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++)
		l->judged.ns[i] += causes.ns[i];
	l->judged.ns[TIME_CAUSE_unknown] += causes.lost_ns ? causes.ns[TIME_CAUSE_unknown]
							   : l->lost_ns;
	long_event(r, l, &causes, now_ns);
	l->from_ns = l->to_ns = l->count = l->last_step = l->lost_ns = 0;
}

void rank_long_drop(struct rank *r, uint64_t onset_ns)
{
	struct rank_long *l = r->long_steps;

	if (l && l->count && l->to_ns >= onset_ns)
		l->from_ns = l->to_ns = l->count = l->last_step = l->lost_ns = 0;
}

void rank_long_view(const struct rank *r, struct long_steps_view *ret)
{
	struct lines_tagged lines;

	if (!r->long_steps)
		return;
	*ret = r->long_steps->judged;
	rank_line_tagged(r, RANK_LONG_TAG, &lines);
	ret->most = lines.most;
}

void rank_long_archive(struct archive *a, struct rank_long **at)
{
	struct rank_long *l = *at = archive_object(a, *at, sizeof(**at));

	if (!l)
		return;
	archive_struct(a, sizeof(*l));
	archive_fields(a, l, from_ns, to_ns, count, last_step, lost_ns);
	archive_fields(a, &l->judged, count, lost_ns, ns);
	archive_require(a, l->from_ns <= l->to_ns);
}
