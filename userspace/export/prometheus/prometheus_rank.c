/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_rank.c - writes the series of processes and of their training loops. */
#include "userspace/export/prometheus/prometheus_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/model/time/hang.h"

/* ---- lasting slowdowns ----------------------------------------------------------------------- */

/* Writes 1 if the loop's steps are slower than before, else 0. The label names the phase that is
 * slower; a loop has only one series, not one for each phase. */
static void prometheus_rank_loop_slow(struct page *p, const struct metric_family *f,
				      const struct rank_view *r, const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (!c->known || !measure_loop_known(l))
		return;
	page_loop(p, f->name, r, l);
	if (c->slow && l->slow_alarm)
		metric_label(p->out, "phase", change_part_name(c->blame));
	page_value_uint(p, p->out, c->slow && l->slow_alarm);
}

static void prometheus_rank_loop_slow_ratio(struct page *p, const struct metric_family *f,
					    const struct rank_view *r, const struct loop_view *l)
{
	const struct change_view *c = &l->change;

	if (c->known && c->slow && l->slow_alarm && measure_loop_known(l))
		page_value_real(p, page_loop(p, f->name, r, l),
				(double)c->after_ns / (double)c->before_ns);
}

/* ---- recent step times ------------------------------------------------------------------------
 */

static void prometheus_rank_minute_sample(struct page *p, const struct metric_family *f,
					  const struct rank_view *r, const struct loop_view *l,
					  const char *percentile, uint64_t ns)
{
	/* The label is not called "quantile", which is reserved for summaries: their sums never
	 * decrease. */
	metric_label(page_loop(p, f->name, r, l), "percentile", percentile);
	page_value_ns(p, p->out, ns);
}

static void prometheus_rank_loop_minute(struct page *p, const struct metric_family *f,
					const struct rank_view *r, const struct loop_view *l)
{
	const struct times_view *t = &l->recent_times[0];

	if (!measure_loop_known(l) || !t->count)
		return;
	prometheus_rank_minute_sample(p, f, r, l, "50", t->p50_ns);
	prometheus_rank_minute_sample(p, f, r, l, "95", t->p95_ns);
	prometheus_rank_minute_sample(p, f, r, l, "99", t->p99_ns);
}

static void prometheus_rank_loop_minute_steps(struct page *p, const struct metric_family *f,
					      const struct rank_view *r, const struct loop_view *l)
{
	if (measure_loop_known(l))
		page_value_uint(p, page_loop(p, f->name, r, l), l->recent_times[0].count);
}

static void prometheus_rank_loop_signed(struct page *p, const struct metric_family *f,
					const struct rank_view *r, const struct loop_view *l)
{
	if (measure_loop_known(l) && l->time.ideal_ns)
		page_value_real(p, page_loop(p, f->name, r, l), l->time.signed_ns / 1e9);
}

/* ---- where the time went recently ------------------------------------------------------------ */

static uint64_t rank_observed_ns(const struct window_view *w)
{
	return window_elapsed(w) - w->ns[BUCKET_UNOBSERVED];
}

/* Writes windows only for processes whose job has no series on this node. Otherwise the job's
 * windows suffice: ranks wait for each other, so theirs are equal. */
static void prometheus_rank_window_goodput(struct page *p, const struct metric_family *f,
					   const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && !p->label_job && i < WINDOWS_MAX && r->windows[i].length_ns;
	     i++) {
		const struct window_view *w = &r->windows[i];

		if (!rank_observed_ns(w))
			continue;
		metric_label(page_sample(p, f->name, r), "window", window_name(name, w->length_ns));
		page_value_real(p, p->out,
				(double)w->ns[BUCKET_GOODPUT] / (double)rank_observed_ns(w));
	}
}

static void prometheus_rank_window_observed(struct page *p, const struct metric_family *f,
					    const struct rank_view *r)
{
	char name[16];

	for (int i = 0; r->trainer && !p->label_job && i < WINDOWS_MAX && r->windows[i].length_ns;
	     i++) {
		if (rank_observed_ns(&r->windows[i]) >= r->windows[i].length_ns)
			continue;
		metric_label(page_sample(p, f->name, r), "window",
			     window_name(name, r->windows[i].length_ns));
		page_value_ns(p, p->out, rank_observed_ns(&r->windows[i]));
	}
}

/* ---- steps of each loop of each rank --------------------------------------------------------- */

#define NS_PER_S 1000000000ull

static void prometheus_rank_loop_info(struct page *p, const struct metric_family *f,
				      const struct rank_view *r, const struct loop_view *l)
{
	if (l->state.tier == TIER_NONE)
		return;
	metric_label(page_loop(p, f->name, r, l), "tier", tier_name[l->state.tier]);
	metric_label(p->out, "marker", l->state.marker);
	metric_label(p->out, "boundary", boundary_name[l->state.boundary]);
	metric_label(p->out, "unit", unit_name[l->state.unit]);
	metric_label(p->out, "series", series_name[l->state.series]);
	page_value_uint(p, p->out, 1);
}

static void prometheus_rank_loop_confidence(struct page *p, const struct metric_family *f,
					    const struct rank_view *r, const struct loop_view *l)
{
	page_value_real(p, page_loop(p, f->name, r, l), l->state.confidence);
}

/* Writes the count of executions or cycles, which are not known to be training steps. */
static void prometheus_rank_loop_counted(struct page *p, const struct metric_family *f,
					 const struct rank_view *r, const struct loop_view *l)
{
	if (l->state.tier == TIER_NONE || l->state.unit == UNIT_STEP)
		return;
	metric_label(page_loop(p, f->name, r, l), "unit", unit_name[l->state.unit]);
	page_value_uint(p, p->out, l->state.steps);
}

static void prometheus_rank_loop_counted_time(struct page *p, const struct metric_family *f,
					      const struct rank_view *r, const struct loop_view *l)
{
	const struct {
		const char *percentile;
		uint64_t ns;
	} q[] = {{"50", l->time.p50_ns}, {"99", l->time.p99_ns}};

	if (l->state.tier == TIER_NONE || l->state.unit == UNIT_STEP || !l->time.count ||
	    l->state.confidence < STEP_CONFIDENCE)
		return;
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		metric_label(page_loop(p, f->name, r, l), "unit", unit_name[l->state.unit]);
		metric_label(p->out, "percentile", q[i].percentile);
		page_value_ns(p, p->out, q[i].ns);
	}
}

static void prometheus_rank_loop_number(struct page *p, const struct metric_family *f,
					const struct rank_view *r, const struct loop_view *l)
{
	if (l->last_number && l->state.unit == UNIT_STEP && !p->label_job)
		page_value_uint(p, page_loop(p, f->name, r, l), l->last_number);
}

static struct buffer *prometheus_rank_loop_part(struct page *p, const char *name,
						const char *ending, const struct rank_view *r,
						const struct loop_view *l)
{
	page_part(p, name, ending, r);
	page_loop_label(p, l);
	return p->out;
}

static void prometheus_rank_loop_seconds(struct page *p, const struct metric_family *f,
					 const struct rank_view *r, const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	const struct {
		const char *quantile;
		uint64_t ns;
	} q[] = {{"0.5", t->p50_ns}, {"0.99", t->p99_ns}};

	if (!measure_loop_known(l))
		return;
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		metric_label(page_loop(p, f->name, r, l), "quantile", q[i].quantile);
		page_value_ns(p, p->out, q[i].ns);
	}
	page_value_ns(p, prometheus_rank_loop_part(p, f->name, "_sum", r, l), t->sum_ns);
	page_value_uint(p, prometheus_rank_loop_part(p, f->name, "_count", r, l), t->count);
}

static void prometheus_rank_loop_max(struct page *p, const struct metric_family *f,
				     const struct rank_view *r, const struct loop_view *l)
{
	if (measure_loop_known(l))
		page_value_ns(p, page_loop(p, f->name, r, l), l->time.max_ns);
}

static void prometheus_rank_loop_jitter(struct page *p, const struct metric_family *f,
					const struct rank_view *r, const struct loop_view *l)
{
	if (measure_loop_known(l) && l->time.ideal_ns)
		page_value_real(p, page_loop(p, f->name, r, l), l->time.jitter);
}

static const struct metric_family loop_families[] = {
	MEASURED("gpbpf_rank_state"),
	{"gpbpf_loop_info", INFO, OF_LOOP ", tier, marker, boundary, unit, series",
	 "Marker that ends the steps of a training loop.", .loop = prometheus_rank_loop_info},
	{"gpbpf_confidence_ratio", GAUGE, OF_LOOP,
	 "Confidence that the steps are those of the training loop, 0 to 1; below 0.7 there are no step times.",
	 .loop = prometheus_rank_loop_confidence},
	MEASURED("gpbpf_steps_total"),
	{"gpbpf_counted_total", COUNTER, OF_LOOP ", unit",
	 "Program executions, or cycles of waits, of a process that is not known to train.",
	 .loop = prometheus_rank_loop_counted},
	{"gpbpf_counted_seconds", GAUGE, OF_LOOP ", unit, percentile",
	 "Time from one execution or cycle to the next.",
	 .loop = prometheus_rank_loop_counted_time},
	{"gpbpf_step_number", GAUGE, OF_LOOP,
	 "Number of the newest step of a process whose job has no series on this page (else see gpbpf_job_step_number).",
	 .loop = prometheus_rank_loop_number},
	{"gpbpf_step_seconds", SUMMARY, OF_LOOP ", quantile",
	 "Time of a training step, over all steps; for several ranks use gpbpf_job_step_seconds.",
	 .loop = prometheus_rank_loop_seconds},
	{"gpbpf_step_max_seconds", GAUGE, OF_LOOP, "Longest step.",
	 .loop = prometheus_rank_loop_max},
	MEASURED("gpbpf_step_ideal_seconds"),
	MEASURED("gpbpf_step_deviation_seconds"),
	{"gpbpf_step_jitter_ratio", GAUGE, OF_LOOP,
	 "Spread of the last 128 step times, divided by their median.",
	 .loop = prometheus_rank_loop_jitter},
	{"gpbpf_step_lateness_seconds", GAUGE, OF_LOOP,
	 "Mean of the last 128 step times minus the ideal step time; negative if they were faster.",
	 .loop = prometheus_rank_loop_signed},
	{"gpbpf_step_recent_seconds", GAUGE, OF_LOOP ", percentile",
	 "Step times of the last 60 seconds; absent if there was no step.",
	 .loop = prometheus_rank_loop_minute},
	{"gpbpf_step_recent_steps", GAUGE, OF_LOOP, "Steps in the last 60 seconds.",
	 .loop = prometheus_rank_loop_minute_steps},
	{"gpbpf_loop_slow", GAUGE, OF_LOOP ", phase",
	 "1 while steps are lastingly slower than usual (fail-slow), else 0; phase: the one that grew most; absent: not known yet.",
	 .loop = prometheus_rank_loop_slow},
	{"gpbpf_loop_slow_ratio", GAUGE, OF_LOOP,
	 "During a slowdown: median of the last 40 step times, divided by the usual step time.",
	 .loop = prometheus_rank_loop_slow_ratio},
	{"gpbpf_slowdowns_total", COUNTER, OF_LOOP, "Lasting slowdowns.", .loop = page_loop_member,
	 MEMBER(struct loop_view, slow_alarms)},
	{"gpbpf_slow_bursts_total", COUNTER, OF_LOOP,
	 "Slowdowns that were too short or too cheap to count as lasting.",
	 .loop = page_loop_member, MEMBER(struct loop_view, bursts)},
	MEASURED("gpbpf_step_phase_seconds_total"),
};
const struct metric_family_list page_loop_families = FAMILY_LIST(loop_families);

/* ---- processes: where their time went, and their failures ------------------------------------ */

static void rank_place_labels(struct page *p, const struct gp_place *at)
{
	const struct {
		const char *name, *value;
	} labels[] = {{"namespace", at->namespace},
		      {"pod", at->pod},
		      {"container", *at->container_name ? at->container_name : at->container_id},
		      {"node", at->node}};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (*labels[i].value)
			metric_label(p->out, labels[i].name, labels[i].value);
}

/* Writes the labels of a process that may change to a series of its own, to which queries can join
 * the other series. The command line is excluded, because it may contain secrets. */
static void rank_info(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	page_sample(p, f->name, r);
	if (!p->label_pid)
		metric_label_uint(p->out, "pid", r->pid);
	metric_label(p->out, "comm", r->comm);
	if (r->world_size >= 0)
		metric_label_uint(p->out, "world_size", (uint64_t)r->world_size);
	if (r->accelerators)
		metric_label_uint(p->out, "accelerators", r->accelerators);
	if (r->placed)
		rank_place_labels(p, &r->place);
	page_value_uint(p, p->out, 1);
}

static void rank_hang_time(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	if (r->trainer)
		page_value_ns(p, page_sample(p, f->name, r), r->hang.total_ns);
}

static const struct metric_family rank_families[] = {
	{"gpbpf_rank_info", INFO,
	 OF_RANK ", pid, comm, world_size, accelerators, namespace, pod, container, node",
	 "Labels of a process, to be joined to its other series.", .rank = rank_info},
	MEASURED("gpbpf_time_seconds"),
	{"gpbpf_excluded_seconds", GAUGE, OF_RANK,
	 "Time excluded from a process: it is in no bucket.", .rank = page_rank_member,
	 MEMBER(struct rank_view, ledger.ns[BUCKET_EXCLUDED]), .ns = true, .sparse = true},
	MEASURED("gpbpf_goodput_ratio"),
	{"gpbpf_window_goodput_ratio", GAUGE, OF_RANK ", window",
	 "Share of observed time in the window that became training progress; silence counts as observed; only for processes whose job has no series on this page.",
	 .rank = prometheus_rank_window_goodput},
	{"gpbpf_window_observed_seconds", GAUGE, OF_RANK ", window",
	 "Observed time of gpbpf_window_goodput_ratio, if less than the window: the process is younger, or was not watched.",
	 .rank = prometheus_rank_window_observed},
	MEASURED("gpbpf_productive_seconds_total"),
	{"gpbpf_ledger_late_seconds_total", COUNTER, OF_RANK,
	 "Time that was claimed after it had been settled for another bucket; absent: none was.",
	 .rank = page_rank_member, MEMBER(struct rank_view, ledger.late_ns), .ns = true,
	 .sparse = true},
	MEASURED("gpbpf_checkpoints_total"),
	MEASURED("gpbpf_checkpoint_save_seconds_total"),
	{"gpbpf_disruptions_total", COUNTER, OF_RANK, "Ends other than by finishing.",
	 .rank = page_rank_member, MEMBER(struct rank_view, ledger.disruptions)},
	MEASURED("gpbpf_rank_hung"),
	MEASURED("gpbpf_hangs_total"),
	{"gpbpf_hang_seconds_total", COUNTER, OF_RANK,
	 "Time in hangs, each from its first instant.", .rank = rank_hang_time},
	MEASURED("gpbpf_rank_cause_seconds_total"),
	MEASURED("gpbpf_rank_long_step_seconds_total"),
	MEASURED("gpbpf_overhead_seconds_total"),
};
const struct metric_family_list page_rank_families = FAMILY_LIST(rank_families);

/* ---- data from the job: figures of torch.monitor, and named ranges --------------------------- */

/* Maximum number of values of torch.monitor on a page, because a job may log any number; further
 * values are only counted. A sample has about 120 bytes, so these are at most a tenth of the
 * allowed page. */
#define PAGE_FIGURES 2048

/* Writes the value as the job logged it, which may be NaN. */
static void prometheus_rank_monitor_figure_value(struct buffer *out, double value)
{
	char text[32];

	if (!isfinite(value)) {
		buffer_printf(out, "} %s\n", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buffer_printf(out, "} %s\n", text);
}

static void prometheus_rank_monitor_figures(struct page *p, const struct metric_family *f,
					    const struct rank_view *r)
{
	for (uint32_t i = 0; i < r->nmonitor; i++) {
		const struct monitor_value *v = &r->monitor[i];

		if (p->figures == PAGE_FIGURES) {
			p->figures_left_out++;
			continue;
		}
		p->figures++;
		metric_label(page_sample(p, f->name, r), "name", v->name);
		metric_label(p->out, "aggregation", monitor_aggregation_name[v->aggregation]);
		prometheus_rank_monitor_figure_value(p->out, v->value);
	}
}

static void prometheus_rank_monitor_left_out(struct page *p, const struct metric_family *f)
{
	if (p->figures)
		page_plain(p, f, p->figures_left_out);
}

static void prometheus_rank_monitor_events(struct page *p, const struct metric_family *f,
					   const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_events);
}

static void prometheus_rank_monitor_truncated(struct page *p, const struct metric_family *f,
					      const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_truncated);
}

static void prometheus_rank_monitor_unkept(struct page *p, const struct metric_family *f,
					   const struct rank_view *r)
{
	if (r->monitor_events)
		page_value_uint(p, page_sample(p, f->name, r), r->monitor_unkept);
}

/* If a page has no room for all ranges, those that were used first are written, so that the series
 * of the page do not change. */
static void prometheus_rank_monitor_ranges(struct page *p, const struct metric_family *f,
					   const struct rank_view *r, const struct loop_view *l)
{
	for (uint32_t i = 0; i < l->ranges.nparts && p->range_samples < PAGE_FIGURES; i++) {
		p->range_samples++;
		metric_label(page_loop(p, f->name, r, l), "name", l->ranges.part[i].name);
		page_value_ns(p, p->out, l->ranges.part[i].ns);
	}
}

static const struct metric_family monitor_families[] = {
	{"gpbpf_monitor_value", GAUGE, OF_RANK ", name, aggregation",
	 "Last value of a Stat of torch.monitor, as the job logged it.",
	 .rank = prometheus_rank_monitor_figures},
	{"gpbpf_monitor_values_left_out", GAUGE, "",
	 "Values of torch.monitor for which this page has no room.",
	 .all = prometheus_rank_monitor_left_out},
	{"gpbpf_monitor_events_total", COUNTER, OF_RANK,
	 "Events of torch.monitor, those of Stats included.",
	 .rank = prometheus_rank_monitor_events},
	{"gpbpf_monitor_truncated_total", COUNTER, OF_RANK,
	 "Events of torch.monitor of which a part is missing.",
	 .rank = prometheus_rank_monitor_truncated},
	{"gpbpf_monitor_unkept_total", COUNTER, OF_RANK,
	 "Values of Stats that were not kept, because a process has room for 64.",
	 .rank = prometheus_rank_monitor_unkept},
	{"gpbpf_step_range_seconds_total", COUNTER, OF_LOOP ", name",
	 "Host time inside steps in ranges that the job named, each without the ranges inside it.",
	 .loop = prometheus_rank_monitor_ranges},
};
const struct metric_family_list page_monitor_families = FAMILY_LIST(monitor_families);

/* ---- errors of devices, stragglers ----------------------------------------------------------- */

static void rank_faults(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	for (int i = 0; i < FAULT_COUNT; i++) {
		if (!r->faults[i])
			continue;
		metric_label(page_sample(p, f->name, r), "kind", fault_name[i]);
		page_value_uint(p, p->out, r->faults[i]);
	}
}

static void rank_wait(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	uint64_t wait_ns = 0;
	bool known = false;

	for (uint32_t i = 0; i < r->nloops; i++) {
		known |= r->loops[i].device_known;
		wait_ns += r->loops[i].wait_ns;
	}
	if (known)
		page_value_ns(p, page_sample(p, f->name, r), wait_ns);
}

/* Returns true if the rank can be compared with others as a straggler. */
static bool rank_compared(const struct rank_view *r)
{
	return r->straggle.count || (r->world_size > 1 && r->nloops && r->loops[0].device_known);
}

static void rank_straggles(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	if (rank_compared(r))
		page_value_uint(p, page_sample(p, f->name, r), r->straggle.count);
}

static const struct metric_family health_families[] = {
	{"gpbpf_faults_total", COUNTER, OF_RANK ", kind",
	 "Errors of devices and communicators, from return values of calls and from the kernel log; all, not only the first.",
	 .rank = rank_faults},
	{"gpbpf_collective_wait_seconds_total", COUNTER, OF_RANK,
	 "Time inside steps blocked in collectives, on the device, or in copies to the host, where a rank may wait for other ranks. The rank with the lowest value is the one the others wait for.",
	 .rank = rank_wait},
	MEASURED("gpbpf_straggler"),
	{"gpbpf_straggles_total", COUNTER, OF_RANK,
	 "How often a rank became a straggler (the rank that the others wait for).",
	 .rank = rank_straggles},
};
const struct metric_family_list page_health_families = FAMILY_LIST(health_families);
