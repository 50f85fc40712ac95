/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_loop.c - steps: of each loop of each rank. */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

#define NS_PER_S 1000000000ull

/* By its number alone, whatever loops there are beside it: no series changes its name when one more
 * comes. */
void page_loop_label(struct page *p, const struct loop_view *l)
{
	if (l->state.loop)
		metric_label_uint(p->out, "loop", l->state.loop);
}

struct buffer *page_loop(struct page *p, const char *name, const struct rank_view *r,
			 const struct loop_view *l)
{
	page_sample(p, name, r);
	page_loop_label(p, l);
	return p->out;
}

static void loop_state(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	metric_label(page_loop(p, f->name, r, l), "state", step_state_name[l->state.state]);
	page_value_uint(p, p->out, 1);
}

static void loop_info(struct page *p, const struct family *f, const struct rank_view *r,
		      const struct loop_view *l)
{
	static const char *const tier[] = {"", "A", "B", "C"};

	if (l->state.tier == TIER_NONE)
		return;
	metric_label(page_loop(p, f->name, r, l), "tier", tier[l->state.tier]);
	metric_label(p->out, "marker", l->state.marker);
	metric_label(p->out, "boundary", boundary_name[l->state.boundary]);
	metric_label(p->out, "unit", unit_name[l->state.unit]);
	metric_label(p->out, "series", series_name[l->state.series]);
	page_value_uint(p, p->out, 1);
}

static void loop_confidence(struct page *p, const struct family *f, const struct rank_view *r,
			    const struct loop_view *l)
{
	page_value_real(p, page_loop(p, f->name, r, l), l->state.confidence);
}

bool page_loop_known(const struct loop_view *l)
{
	return l->state.unit == UNIT_STEP && l->state.confidence >= PROMETHEUS_CONFIDENCE &&
	       l->time.count;
}

/* What is counted and is no training: it has a time, and no step has. */
static void loop_counted(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l)
{
	if (l->state.tier == TIER_NONE || l->state.unit == UNIT_STEP)
		return;
	metric_label(page_loop(p, f->name, r, l), "unit", unit_name[l->state.unit]);
	page_value_uint(p, p->out, l->state.steps);
}

static void loop_counted_time(struct page *p, const struct family *f, const struct rank_view *r,
			      const struct loop_view *l)
{
	const struct {
		const char *percentile;
		uint64_t ns;
	} q[] = {{"50", l->time.p50_ns}, {"99", l->time.p99_ns}};

	if (l->state.tier == TIER_NONE || l->state.unit == UNIT_STEP || !l->time.count ||
	    l->state.confidence < PROMETHEUS_CONFIDENCE)
		return;
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		metric_label(page_loop(p, f->name, r, l), "unit", unit_name[l->state.unit]);
		metric_label(p->out, "percentile", q[i].percentile);
		page_value_ns(p, p->out, q[i].ns);
	}
}

static void loop_steps(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	if (l->state.unit == UNIT_STEP)
		page_value_uint(p, page_loop(p, f->name, r, l), l->state.steps);
}

static void loop_number(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	if (l->last_number && l->state.unit == UNIT_STEP && !p->label_job)
		page_value_uint(p, page_loop(p, f->name, r, l), l->last_number);
}

static struct buffer *loop_part(struct page *p, const char *name, const char *ending,
				const struct rank_view *r, const struct loop_view *l)
{
	page_part(p, name, ending, r);
	page_loop_label(p, l);
	return p->out;
}

static void loop_seconds(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	const struct {
		const char *quantile;
		uint64_t ns;
	} q[] = {{"0.5", t->p50_ns}, {"0.99", t->p99_ns}};

	if (!page_loop_known(l))
		return;
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		metric_label(page_loop(p, f->name, r, l), "quantile", q[i].quantile);
		page_value_ns(p, p->out, q[i].ns);
	}
	page_value_ns(p, loop_part(p, f->name, "_sum", r, l), t->sum_ns);
	page_value_uint(p, loop_part(p, f->name, "_count", r, l), t->count);
}

static void loop_max(struct page *p, const struct family *f, const struct rank_view *r,
		     const struct loop_view *l)
{
	if (page_loop_known(l))
		page_value_ns(p, page_loop(p, f->name, r, l), l->time.max_ns);
}

static void loop_ideal(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		page_value_ns(p, page_loop(p, f->name, r, l), l->time.ideal_ns);
}

static void loop_deviation(struct page *p, const struct family *f, const struct rank_view *r,
			   const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		page_value_real(p, page_loop(p, f->name, r, l), l->time.deviation_ns / NS_PER_S);
}

static void loop_jitter(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		page_value_real(p, page_loop(p, f->name, r, l), l->time.jitter);
}

static void loop_phases(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i)) {
			metric_label(page_loop(p, f->name, r, l), "phase", phase_name[i]);
			page_value_ns(p, p->out, l->phase_ns[i]);
		}
	if (l->device_known) {
		metric_label(page_loop(p, f->name, r, l), "phase", "host");
		page_value_ns(p, p->out, l->host_ns);
	}
}

static const struct family loop_families[] = {
	{"gpbpf_rank_state", GAUGE, OF_LOOP ", state",
	 "1 for the state that a training loop is in, the others are absent: idle, starting, learning, "
	 "locked, suspect, ended.",
	 .loop = loop_state},
	{"gpbpf_loop_info", INFO, OF_LOOP ", tier, marker, boundary, unit, series",
	 "What ends the steps of a training loop.", .loop = loop_info},
	{"gpbpf_confidence_ratio", GAUGE, OF_LOOP,
	 "How certain the steps are; below 0.7 no step time is given.", .loop = loop_confidence},
	{"gpbpf_steps_total", COUNTER, OF_LOOP, "Training steps observed.", .loop = loop_steps},
	{"gpbpf_counted_total", COUNTER, OF_LOOP ", unit",
	 "Executions, or cycles of waits, of a process that nothing shows to train.",
	 .loop = loop_counted},
	{"gpbpf_counted_seconds", GAUGE, OF_LOOP ", unit, percentile",
	 "Time from one of these to the next.", .loop = loop_counted_time},
	{"gpbpf_step_number", GAUGE, OF_LOOP,
	 "Number of the newest step of a process whose job is not told on this page: else "
	 "gpbpf_job_step_number.",
	 .loop = loop_number},
	{"gpbpf_step_seconds", SUMMARY, OF_LOOP ", quantile",
	 "Time of a training step, over all steps; of several ranks take gpbpf_job_step_seconds.",
	 .loop = loop_seconds},
	{"gpbpf_step_max_seconds", GAUGE, OF_LOOP, "Longest step.", .loop = loop_max},
	{"gpbpf_step_ideal_seconds", GAUGE, OF_LOOP,
	 "Mean of the steps no slower than the median plus three MAD.", .loop = loop_ideal},
	{"gpbpf_step_deviation_seconds", GAUGE, OF_LOOP,
	 "Mean distance of the last 128 steps from the ideal step.", .loop = loop_deviation},
	{"gpbpf_step_jitter_ratio", GAUGE, OF_LOOP,
	 "Spread of the last 128 steps over their median.", .loop = loop_jitter},
	{"gpbpf_step_lateness_seconds", GAUGE, OF_LOOP,
	 "Mean of the last 128 steps less the ideal step: below 0 where they were faster.",
	 .loop = page_loop_signed},
	{"gpbpf_step_recent_seconds", GAUGE, OF_LOOP ", percentile",
	 "Step times of the last minute by the clock; absent: there was no step in it.",
	 .loop = page_loop_minute},
	{"gpbpf_step_recent_steps", GAUGE, OF_LOOP,
	 "Steps in the last minute by the clock, 0 included.", .loop = page_loop_minute_steps},
	{"gpbpf_loop_slow", GAUGE, OF_LOOP ", phase",
	 "1 while steps are lastingly slower than usual (fail-slow), with the phase that grew most, else 0; "
	 "absent: not known yet.",
	 .loop = page_loop_slow},
	{"gpbpf_loop_slow_ratio", GAUGE, OF_LOOP,
	 "While they are slower: median of the last 40 steps over the usual step.",
	 .loop = page_loop_slow_ratio},
	{"gpbpf_slowdowns_total", COUNTER, OF_LOOP, "Lasting slowdowns.",
	 .loop = page_loop_slowdowns},
	{"gpbpf_step_phase_seconds_total", COUNTER, OF_LOOP ", phase",
	 "Host time inside steps, by phase; host: neither blocked nor compiling.",
	 .loop = loop_phases},
};
const struct family_list page_loop_families = FAMILY_LIST(loop_families);
