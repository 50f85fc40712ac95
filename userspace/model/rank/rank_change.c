/* SPDX-License-Identifier: Apache-2.0 */
/* rank_change.c - reports when a loop of a rank becomes slower than usual, or recovers. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/clock.h"
#include "userspace/base/number.h"

static void rank_change_add_grown(const struct change_view *v, char *out, size_t len)
{
	const char *separator = ": ";
	size_t at = strlen(out);
	char more[16];

	for (int i = 0; i < CHANGE_PARTS; i++) {
		bool known = i == PHASE_COUNT ? v->parts_known : v->parts_known & 1u << i;

		/* list only phases with at least a tenth of the growth */
		if (!known || v->grown_ns[i] <= 0 ||
		    v->grown_ns[i] < ((int64_t)v->after_ns - (int64_t)v->before_ns) / 10)
			continue;
		at += (size_t)snprintf(
			out + at, len - at, "%s%s +%s", separator, change_part_name(i),
			clock_duration(more, sizeof(more), (uint64_t)v->grown_ns[i]));
		separator = ", ";
	}
}

static void change_evidence(const struct change_view *v, const struct time_causes *causes,
			    const struct examination *examined, char *out, size_t len)
{
	char before[24], after[24], period[48], why[400];

	clock_durations(before, after, sizeof(before), v->before_ns, v->after_ns);
	if (v->slow) {
		snprintf(out, len,
			 "steps take %s instead of %s%s since step %llu, noticed at step %llu",
			 after, before, v->mean ? " in the mean" : "",
			 (unsigned long long)v->onset_step, (unsigned long long)v->noticed_step);
		if (v->period)
			snprintf(out + strlen(out), len - strlen(out), "; %s",
				 change_period_text(period, sizeof(period), v));
		rank_change_add_grown(v, out, len);
		if (*examination_causes_text(why, sizeof(why), causes, examined))
			snprintf(out + strlen(out), len - strlen(out), "; %s", why);
		return;
	}
	snprintf(out, len, "steps took %s instead of %s from step %llu to step %llu%s", after,
		 before, (unsigned long long)v->onset_step, (unsigned long long)v->end_step - 1,
		 !v->incomparable ? ""
		 : v->other_optimizer
			 ? "; from there on another optimizer makes them"
			 : "; from there on they hold another number of micro-batches");
	if (*examination_causes_text(why, sizeof(why), causes, examined))
		snprintf(out + strlen(out), len - strlen(out), "; %s", why);
}

/* If it was measured for less than this time (ns) what a process lacks (a CPU, memory...), its
 * usual lack is unknown. */
#define LACKED_LEAST_NS 8000000000ull

/* A slowdown is reported when it has lasted for SLOW_NS and cost SLOW_PPM of the time since it
 * began, unless the user set other limits. A slowdown that ends before counts as a burst. */
#define SLOW_NS	 30000000000ull
#define SLOW_PPM 50000

int rank_resource(struct rank *r, const struct event *ev)
{
	if (!r->resource)
		r->resource = resource_new();
	if (!r->resource)
		return -ENOMEM;
	if (ev->rec->kind == GP_KIND_usage)
		resource_usage(r->resource, ev->rec->tid, ev->usage, ev->rec->tid == r->hang.tid);
	else
		resource_pressure(r->resource, ev->rec->ts_ns, ev->pressure);
	return 0;
}

void rank_lacked(const struct rank *r, uint64_t now_ns, struct resource_sums *ret)
{
	uint64_t from_ns = 0;

	*ret = (struct resource_sums){0};
	for (uint32_t i = 0; i < r->nloops; i++) {
		/* if a loop is slower than usual, its causes are shown instead */
		if (rank_slow_examined(r->loops[i]))
			return;
		if (r->loops[i]->first_ns && (!from_ns || r->loops[i]->first_ns < from_ns))
			from_ns = r->loops[i]->first_ns;
	}
	if (!r->resource || !from_ns)
		return;
	resource_between(r->resource, larger_of(from_ns, more_than(now_ns, RANK_USUAL_NS)), now_ns,
			 ret);
	if (ret->covered_ns < LACKED_LEAST_NS)
		ret->covered_ns = 0;
}

/* Begins the record of a slowdown. First stores what the process lacked before the onset (a CPU,
 * memory...). */
static void change_begin(struct rank *r, struct rank_loop *lp, const struct change_view *v)
{
	uint64_t onset_ns = v->onset_ns;

	if (!lp->slow)
		lp->slow = calloc(1, sizeof(*lp->slow));
	if (!lp->slow) {
		r->error = -ENOMEM;
		return;
	}
	lp->slow->alarm = false;
	lp->slow->causes = (struct time_causes){0};
	lp->slow->usual = (struct resource_sums){0};
	lp->slow->late_ns = 0;
	lp->slow->lost_ns = ((int64_t)v->after_ns - (int64_t)v->before_ns) *
			    (int64_t)(v->noticed_step - v->onset_step + 1);
	lp->slow->all_lost_ns = lp->slow->lost_ns;
	if (r->resource)
		resource_between(
			r->resource, onset_ns > RANK_USUAL_NS ? onset_ns - RANK_USUAL_NS : 0,
			onset_ns > RANK_ONSET_NS ? onset_ns - RANK_ONSET_NS : 0, &lp->slow->usual);
	if (r->input)
		input_waits_between(r->input,
				    onset_ns > RANK_USUAL_NS ? onset_ns - RANK_USUAL_NS : 0,
				    onset_ns > RANK_ONSET_NS ? onset_ns - RANK_ONSET_NS : 0,
				    &lp->slow->usual.input);
	rank_line_usual(r, onset_ns, &lp->slow->usual_lines);
	rank_device_usual(r, onset_ns, &lp->slow->usual_device);
	rank_traffic_usual(r, onset_ns, &lp->slow->usual_traffic);
}

/* Finds the causes of a slowdown by comparing what the process lacked before the onset and after
 * it. */
static void change_causes(const struct rank *r, struct rank_slow *slow, const struct change_view *v,
			  uint64_t now_ns)
{
	const struct examination *examined;
	struct resource_sums since = {0};
	uint64_t grown_ns;

	if (r->resource)
		resource_between(r->resource, v->onset_ns, v->end_ns ? v->end_ns : now_ns, &since);
	if (r->input)
		input_waits_between(r->input, v->onset_ns, v->end_ns ? v->end_ns : now_ns,
				    &since.input);
	time_cause_slower(&slow->causes, &slow->usual, v->before_ns, &since, v->after_ns);
	rank_straggler_causes(r, slow, v);
	examined = rank_examination(r, v->onset_ns, v->end_ns ? v->end_ns : now_ns);
	if (examined)
		examination_refine(examined, &slow->causes, &slow->usual, v->before_ns, &since,
				   v->after_ns);
	rank_device_causes(r, slow, v, now_ns);
	grown_ns = rank_line_causes(r, slow, v, now_ns);
	time_cause_add_kernel(&slow->causes, &slow->usual, v->before_ns, &since, v->after_ns);
	if (examined)
		examination_add_waits(examined, &slow->causes, &slow->usual, v->before_ns, &since,
				      v->after_ns, grown_ns);
	rank_figures_causes(r, slow, v, now_ns);
}

/* Divides the time that the slowdown has cost since the last call among its causes, and adds the
 * parts to r->cause_ns. */
static void change_count(struct rank *r, struct rank_slow *slow)
{
	uint64_t left_ns = slow->lost_ns > 0 ? (uint64_t)slow->lost_ns : 0;

	if (!left_ns) /* no time was lost: the steps were as fast as before the slowdown */
		return;
	slow->lost_ns = 0;
	for (int i = TIME_CAUSE_unknown + 1; i < TIME_CAUSE_COUNT; i++) {
		uint64_t part_ns = (uint64_t)((double)left_ns *
					      time_cause_share(&slow->causes, (enum time_cause)i));

		r->cause_ns[i] += take_up_to(&left_ns, part_ns);
	}
	r->cause_ns[TIME_CAUSE_unknown] += left_ns;
}

static void change_event_text(struct rank *r, const struct change_view *v,
			      const struct fact_health *health, enum time_cause cause,
			      uint64_t now_ns)
{
	if (v->incomparable)
		rank_event(r, now_ns, "no longer slow: step %llu and later ones have other work",
			   (unsigned long long)v->end_step);
	else if (health->over)
		rank_event(r, now_ns, "fast again since step %llu, slow since step %llu",
			   (unsigned long long)v->end_step, (unsigned long long)v->onset_step);
	else
		rank_event(r, now_ns, "slow since step %llu: %+.0f %%%s%s%s%s%s%s",
			   (unsigned long long)v->onset_step, 100 * (health->ratio - 1),
			   *health->phase ? ", " : "", health->phase, cause ? ": " : "",
			   cause ? time_cause_label[cause] : "",
			   cause && *time_causes_line(health->causes, cause) ? " at " : "",
			   cause ? time_causes_line(health->causes, cause) : "");
}

/* Reports that the slowdown *v of a loop continues, or that it has ended. */
static void change_report(struct rank *r, const struct rank_slow *slow, uint32_t loop,
			  const struct change_view *v, uint64_t now_ns)
{
	const struct examination *examined = rank_examination(r, v->onset_ns,
							      v->end_ns ? v->end_ns : now_ns);
	enum time_cause cause = time_cause_main(&slow->causes);
	char evidence[768];
	struct fact_health health = {
		.kind = v->slow ? "fail_slow" : "recovered",
		.over = !v->slow,
		.loop = loop,
		.evidence = evidence,
		.causes = &slow->causes,
		.examination = examined,
		.why = time_cause_name[cause],
		.line = time_causes_line(&slow->causes, cause),
		.onset_ns = v->onset_ns,
		.onset_step = v->onset_step,
		.end_ns = v->end_ns,
		.end_step = v->end_step,
		.size_ns = more_than(v->after_ns, v->before_ns),
		.period = v->period,
		.ratio = v->before_ns ? (double)v->after_ns / (double)v->before_ns : 0,
		.phase = change_part_name(v->blame),
	};
	struct fact f = {.type = FACT_HEALTH, .health = &health};

	change_evidence(v, &slow->causes, examined, evidence, sizeof(evidence));
	rank_input_evidence(r, v, &slow->causes, now_ns, evidence, sizeof(evidence));
	rank_device_evidence(r, slow, v, now_ns, evidence, sizeof(evidence));
	rank_straggler_evidence(slow, evidence, sizeof(evidence));
	if (*slow->causes.figures)
		snprintf(evidence + strlen(evidence), sizeof(evidence) - strlen(evidence), "; %s",
			 slow->causes.figures);
	change_event_text(r, v, &health, cause, now_ns);
	rank_fact(r, &f, now_ns);
}

/* Reports the present slowdown if it has lasted long enough and cost enough. */
static void change_alarm(struct rank *r, struct rank_slow *slow, uint32_t loop,
			 const struct change_view *v, uint64_t now_ns)
{
	const struct model_env *env = r->member.env;
	uint64_t since_ns = more_than(now_ns, v->onset_ns);
	uint64_t least_ns = env->slow_ns ? env->slow_ns : SLOW_NS;
	uint64_t least_ppm = env->slow_ppm ? env->slow_ppm : SLOW_PPM;

	if (!v->slow || slow->alarm || since_ns < least_ns ||
	    (double)slow->all_lost_ns * 1e6 < (double)since_ns * (double)least_ppm)
		return;
	slow->alarm = true;
	slow->alarms++;
	change_report(r, slow, loop, v, now_ns);
}

void rank_change_tick(struct rank *r, uint64_t now_ns)
{
	struct change_view v;

	for (uint32_t i = 0; i < r->nloops; i++) {
		struct rank_loop *lp = r->loops[i];

		if (!lp->slow || !change_before_ns(lp->change))
			continue;
		change_view(lp->change, &v);
		change_causes(r, lp->slow, &v, now_ns);
		change_count(r, lp->slow);
		change_alarm(r, lp->slow, i, &v, now_ns);
	}
}

void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs)
{
	uint64_t before_ns = change_before_ns(lp->change), now_ns = fs->step.end_ns;
	enum change_event event = change_step(lp->change, fs);
	struct change_view v;

	if (before_ns && lp->slow) {
		int64_t more_ns = (int64_t)(now_ns - fs->step.start_ns) - (int64_t)before_ns;

		lp->slow->lost_ns += more_ns;
		lp->slow->all_lost_ns += more_ns;
	}
	if (event == CHANGE_NONE)
		return;
	change_view(lp->change, &v);
	if (event == CHANGE_SLOWER) {
		change_begin(r, lp, &v);
		rank_long_drop(r, v.onset_ns);
	}
	if (!lp->slow) /* no memory for the slowdown, so its cost is unknown */
		return;
	change_causes(r, lp->slow, &v, now_ns);
	change_count(r, lp->slow);
	if (event == CHANGE_RECOVERED && !lp->slow->alarm) {
		lp->slow->bursts++;
		lp->slow->bursts_ns += more_than(v.end_ns, v.onset_ns);
	} else if (event == CHANGE_RECOVERED) {
		change_report(r, lp->slow, fs->step.loop, &v, now_ns);
	} else {
		change_alarm(r, lp->slow, fs->step.loop, &v, now_ns);
	}
}
