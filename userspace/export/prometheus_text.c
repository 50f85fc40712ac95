/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/prometheus_text.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"
#include "userspace/ingest/event.h"
#include "userspace/model/hang.h"

#define NS_PER_S 1000000000ull

/* ---- samples ------------------------------------------------------------------------------------- */

struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r)
{
	metric_name(p->out, name);
	if (r)
		buffer_add(p->out, p->label, p->label_len);
	else
		buffer_add(p->out, "{", 1);
	return p->out;
}

static void rank_labels(struct page *p, size_t i)
{
	const struct rank_view *r = p->ranks[i];

	buffer_add(&p->labels, "{", 1);
	metric_label(&p->labels, "job_id", r->job);
	if (r->rank >= 0)
		metric_label_uint(&p->labels, "rank", (uint64_t)r->rank);
	else
		metric_label(&p->labels, "rank", "");
	metric_label_uint(&p->labels, "pid", r->pid);
	p->label_end[i] = p->labels.len;
}

struct buffer *page_loop(struct page *p, const char *name, const struct rank_view *r,
			 const struct loop_view *l)
{
	page_sample(p, name, r);
	metric_label_uint(p->out, "loop", l->state.loop);
	return p->out;
}

/* ---- what every page has ------------------------------------------------------------------------- */

static void build_info(struct page *p, const struct family *f)
{
	metric_label(page_sample(p, f->name, NULL), "version", GP_VERSION);
	metric_value_uint(p->out, 1);
}

static void up(struct page *p, const struct family *f)
{
	buffer_printf(p->out, "%s 1\n", f->name);
}

static void events(struct page *p, const struct family *f)
{
	if (p->s)
		buffer_printf(p->out, "%s %llu\n", f->name, (unsigned long long)p->s->events);
}

static void violations(struct page *p, const struct family *f)
{
	if (p->s)
		buffer_printf(p->out, "%s %llu\n", f->name, (unsigned long long)p->s->ledger_violations);
}

static void lost(struct page *p, const struct family *f)
{
	for (int i = 0; p->s && i < GP_LOSS_CAUSE_COUNT; i++) {
		metric_label(page_sample(p, f->name, NULL), "cause", event_loss_name((unsigned)i));
		metric_value_uint(p->out, p->s->lost[i]);
	}
}

/* ---- processes ----------------------------------------------------------------------------------- */

static void rank_elapsed(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_ns(page_sample(p, f->name, r), ledger_elapsed(&r->ledger));
}

static void rank_excluded(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->ledger.ns[BUCKET_EXCLUDED])
		metric_value_ns(page_sample(p, f->name, r), r->ledger.ns[BUCKET_EXCLUDED]);
}

static void rank_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t i = 0; (name = ledger_part(&r->ledger, &p->s->types, i, room, &ns)); i++) {
		metric_label(page_sample(p, f->name, r), "bucket", name);
		metric_value_ns(p->out, ns);
	}
}

static void rank_goodput(struct page *p, const struct family *f, const struct rank_view *r)
{
	uint64_t observed = ledger_elapsed(&r->ledger) - r->ledger.ns[BUCKET_UNOBSERVED];

	if (r->trainer && observed)
		metric_value_real(page_sample(p, f->name, r),
				  (double)r->ledger.ns[BUCKET_GOODPUT] / (double)observed);
}

static void rank_productive(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_ns(page_sample(p, f->name, r), r->ledger.productive_gross_ns);
}

static void rank_late(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_ns(page_sample(p, f->name, r), r->ledger.late_ns);
}

static void rank_checkpoints(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_label(page_sample(p, f->name, r), "op", "save");
	metric_value_uint(p->out, r->checkpoints);
	metric_label(page_sample(p, f->name, r), "op", "restore");
	metric_value_uint(p->out, r->restores);
}

static void rank_checkpoint_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_ns(page_sample(p, f->name, r), r->checkpoint_save_ns);
}

static void rank_disruptions(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_uint(page_sample(p, f->name, r), r->ledger.disruptions);
}

/* One series a rank: its why changes. */
static void rank_hung(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (!r->trainer)
		return;
	metric_label(page_sample(p, f->name, r), "why", r->hang.hung ? hang_why_name[r->hang.why] : "");
	metric_value_uint(p->out, r->hang.hung);
}

static void rank_hangs(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->trainer)
		metric_value_uint(page_sample(p, f->name, r), r->hang.count);
}

static void rank_hang_time(struct page *p, const struct family *f, const struct rank_view *r)
{
	if (r->trainer)
		metric_value_ns(page_sample(p, f->name, r), r->hang.total_ns);
}

static void rank_overhead(struct page *p, const struct family *f, const struct rank_view *r)
{
	metric_value_ns(page_sample(p, f->name, r), r->overhead.sum.all_ns);
}

static void rank_overhead_ratio(struct page *p, const struct family *f, const struct rank_view *r)
{
	const struct overhead_view *o = &r->overhead;
	double span = (double)o->recent_ns;

	if (!r->alive || !o->recent_ns)
		return;
	metric_label(page_sample(p, f->name, r), "part", "marker");
	metric_value_real(p->out, (double)o->recent.marker_ns / span);
	metric_label(page_sample(p, f->name, r), "part", "other");
	metric_value_real(p->out, (double)(o->recent.all_ns - o->recent.marker_ns) / span);
}

static void overhead_budget(struct page *p, const struct family *f)
{
	if (!p->s || !p->s->budget_ppm)
		return;
	metric_name(p->out, f->name);
	buffer_printf(p->out, " %g\n", (double)p->s->budget_ppm / 1e6);
}

/* ---- loops --------------------------------------------------------------------------------------- */

static void loop_state(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	for (int i = STATE_IDLE; i <= STATE_ENDED; i++) {
		metric_label(page_loop(p, f->name, r, l), "state", step_state_name[i]);
		metric_value_uint(p->out, (int)l->state.state == i);
	}
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
	metric_value_uint(p->out, 1);
}

static void loop_confidence(struct page *p, const struct family *f, const struct rank_view *r,
			    const struct loop_view *l)
{
	metric_value_real(page_loop(p, f->name, r, l), l->state.confidence);
}

bool page_loop_known(const struct loop_view *l)
{
	return l->state.confidence >= PROMETHEUS_CONFIDENCE && l->time.count;
}

static void loop_steps(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	metric_value_uint(page_loop(p, f->name, r, l), l->state.steps);
}

static void loop_number(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	if (l->last_number)
		metric_value_uint(page_loop(p, f->name, r, l), l->last_number);
}

static void loop_seconds(struct page *p, const struct family *f, const struct rank_view *r,
			 const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	const struct {
		const char *quantile;
		uint64_t ns;
	} q[] = {{"0.5", t->p50_ns}, {"0.95", t->p95_ns}, {"0.99", t->p99_ns}};

	if (!page_loop_known(l))
		return;
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
		metric_label(page_loop(p, f->name, r, l), "quantile", q[i].quantile);
		metric_value_ns(p->out, q[i].ns);
	}
	metric_value_real(page_loop(p, "gpbpf_step_seconds_sum", r, l),
			  t->mean_ns * (double)t->count / NS_PER_S);
	metric_value_uint(page_loop(p, "gpbpf_step_seconds_count", r, l), t->count);
}

static void loop_max(struct page *p, const struct family *f, const struct rank_view *r,
		     const struct loop_view *l)
{
	if (page_loop_known(l))
		metric_value_ns(page_loop(p, f->name, r, l), l->time.max_ns);
}

static void loop_ideal(struct page *p, const struct family *f, const struct rank_view *r,
		       const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		metric_value_ns(page_loop(p, f->name, r, l), l->time.ideal_ns);
}

static void loop_deviation(struct page *p, const struct family *f, const struct rank_view *r,
			   const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		metric_value_real(page_loop(p, f->name, r, l), l->time.deviation_ns / NS_PER_S);
}

static void loop_jitter(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	if (page_loop_known(l) && l->time.ideal_ns)
		metric_value_real(page_loop(p, f->name, r, l), l->time.jitter);
}

static void loop_phases(struct page *p, const struct family *f, const struct rank_view *r,
			const struct loop_view *l)
{
	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i)) {
			metric_label(page_loop(p, f->name, r, l), "phase", phase_name[i]);
			metric_value_ns(p->out, l->phase_ns[i]);
		}
}

/* ---- the table ----------------------------------------------------------------------------------- */

static const struct family families[] = {
	{"gpbpf_build_info", "gauge", "Version of gp-bpf.", .all = build_info},
	{"gpbpf_up", "gauge", "1 while gp-bpf observes.", .all = up},
	{"gpbpf_rank_state", "gauge", "1 for the state that a training loop is in.", .loop = loop_state},
	{"gpbpf_loop_info", "gauge", "What ends the steps of a training loop.", .loop = loop_info},
	{"gpbpf_confidence_ratio", "gauge", "How certain the steps are; below 0.7 no step time is given.",
	 .loop = loop_confidence},
	{"gpbpf_steps_total", "counter", "Training steps observed.", .loop = loop_steps},
	{"gpbpf_step_number", "gauge", "Number of the newest step.", .loop = loop_number},
	{"gpbpf_step_seconds", "summary", "Time of a training step, over all steps.", .loop = loop_seconds},
	{"gpbpf_step_max_seconds", "gauge", "Longest step.", .loop = loop_max},
	{"gpbpf_step_ideal_seconds", "gauge", "Mean of the steps no slower than the median plus three MAD.",
	 .loop = loop_ideal},
	{"gpbpf_step_deviation_seconds", "gauge", "Mean distance of the last 128 steps from the ideal step.",
	 .loop = loop_deviation},
	{"gpbpf_step_jitter_ratio", "gauge", "Spread of the last 128 steps over their median.",
	 .loop = loop_jitter},
	{"gpbpf_step_lateness_seconds", "gauge",
	 "Mean of the last 128 steps less the ideal step: below 0 where they were faster.",
	 .loop = page_loop_signed},
	{"gpbpf_step_recent_seconds", "gauge",
	 "Step times of the last minute by the clock; absent: there was no step in it.",
	 .loop = page_loop_minute},
	{"gpbpf_step_recent_steps", "gauge", "Steps in the last minute by the clock, 0 included.",
	 .loop = page_loop_minute_steps},
	{"gpbpf_loop_slow", "gauge",
	 "1 while steps are lastingly slower than usual (fail-slow); phase: the one that grew most.",
	 .loop = page_loop_slow},
	{"gpbpf_loop_slow_ratio", "gauge",
	 "Median of the last 40 steps over the usual step while they are slower, else 1; absent: not known "
	 "yet.",
	 .loop = page_loop_slow_ratio},
	{"gpbpf_slowdowns_total", "counter", "Lasting slowdowns.", .loop = page_loop_slowdowns},
	{"gpbpf_step_phase_seconds_total", "counter", "Host time inside steps, by phase.",
	 .loop = loop_phases},
	{"gpbpf_time_seconds", "gauge", "Where the time of a process went; its buckets add up to elapsed.",
	 .rank = rank_time},
	{"gpbpf_elapsed_seconds", "gauge", "Age of a process, or its life when it has ended.",
	 .rank = rank_elapsed},
	{"gpbpf_excluded_seconds", "gauge", "Time of a process that is left out, of elapsed too.",
	 .rank = rank_excluded},
	{"gpbpf_goodput_ratio", "gauge", "Share of the observed time that became training progress.",
	 .rank = rank_goodput},
	{"gpbpf_window_goodput_ratio", "gauge",
	 "Share of the observed time of late that became training progress, silence counted.",
	 .rank = page_rank_window_goodput},
	{"gpbpf_window_observed_seconds", "gauge",
	 "Observed time behind it: less than the window while the process is younger.",
	 .rank = page_rank_window_observed},
	{"gpbpf_productive_seconds_total", "counter",
	 "Time ever booked as training progress; what a restart disproves is not taken back here.",
	 .rank = rank_productive},
	{"gpbpf_ledger_late_seconds_total", "counter",
	 "Time that was claimed after it had been settled for another bucket.", .rank = rank_late},
	{"gpbpf_checkpoints_total", "counter", "Checkpoints written and read.", .rank = rank_checkpoints},
	{"gpbpf_checkpoint_save_seconds_total", "counter", "Time spent writing checkpoints.",
	 .rank = rank_checkpoint_time},
	{"gpbpf_disruptions_total", "counter", "Ends other than by finishing.", .rank = rank_disruptions},
	{"gpbpf_rank_hung", "gauge", "1 while a rank hangs; why: collective, stopped, input...",
	 .rank = rank_hung},
	{"gpbpf_hangs_total", "counter", "Hangs.", .rank = rank_hangs},
	{"gpbpf_hang_seconds_total", "counter", "Time in hangs, each from its first instant.",
	 .rank = rank_hang_time},
	{"gpbpf_job_time_seconds", "gauge",
	 "Where the time of a job went, over all its runs; the buckets add up to elapsed.",
	 .all = page_job_time},
	{"gpbpf_job_elapsed_seconds", "gauge", "Time since a job began, or until it ended.",
	 .all = page_job_elapsed},
	{"gpbpf_job_excluded_seconds", "gauge", "Time of a job that is left out, of elapsed too.",
	 .all = page_job_excluded},
	{"gpbpf_job_goodput_ratio", "gauge",
	 "Share of a job's observed time that became progress which counts.", .all = page_job_goodput},
	{"gpbpf_job_window_goodput_ratio", "gauge",
	 "Share of a job's observed time of late that became progress, outages and silence counted.",
	 .all = page_job_window_goodput},
	{"gpbpf_job_productive_seconds_total", "counter",
	 "Time ever booked as progress of a job; what a restart disproves is not taken back here.",
	 .all = page_job_productive},
	{"gpbpf_job_wasted_seconds_total", "counter", "Progress that restarts have disproved.",
	 .all = page_job_wasted},
	{"gpbpf_job_disruptions_total", "counter", "Events that interrupted a job, however many ranks fell.",
	 .all = page_job_disruptions},
	{"gpbpf_job_runs_total", "counter", "Runs of a job: its start, and each restart.",
	 .all = page_job_runs},
	{"gpbpf_job_starts_since_step", "gauge", "Runs begun since the last step: a crash loop shows here.",
	 .all = page_job_starts},
	{"gpbpf_job_step_number", "gauge", "Number of the newest step that counts.", .all = page_job_step},
	{"gpbpf_job_state", "gauge", "1 for the state a job is in: running, down, over, ended.",
	 .all = page_job_state},
	{"gpbpf_overhead_seconds_total", "counter",
	 "Estimated price of observing: hits times the price of an empty one, measured at start.",
	 .rank = rank_overhead},
	{"gpbpf_overhead_ratio", "gauge",
	 "The same as a share of the last ten seconds: of what finds steps, and of all else.",
	 .rank = rank_overhead_ratio},
	{"gpbpf_overhead_budget_ratio", "gauge",
	 "What probes beyond the marker may cost before some are given up; absent: no bound.",
	 .all = overhead_budget},
	{"gpbpf_records_lost_total", "counter", "Records that did not arrive.", .all = lost},
	{"gpbpf_events_total", "counter", "Records the model was given.", .all = events},
	{"gpbpf_ledger_violations_total", "counter", "Times that the buckets did not add up to elapsed.",
	 .all = violations},
	{"gpbpf_probe_hits_total", "counter", "Hits of a probe.", .all = page_probe_hits},
	{"gpbpf_probe_unsent_total", "counter",
	 "Hits that were counted and not sent: over a bound, or over the budget of overhead.",
	 .all = page_probe_unsent},
	{"gpbpf_probes", "gauge", "Places of probes by group and state.", .all = page_probe_states},
	{"gpbpf_probe_attached", "gauge", "1 where a probe is attached, 0 where it could not be.",
	 .all = page_probe_attached},
};

static void family_text(struct page *p, const struct family *f)
{
	size_t start = p->out->len, header;

	buffer_printf(p->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, f->type);
	header = p->out->len;
	if (f->all)
		f->all(p, f);
	for (size_t i = 0; i < p->nranks && !p->out->failed; i++) {
		size_t start_of = i ? p->label_end[i - 1] : 0;

		p->label = p->labels.data + start_of;
		p->label_len = p->label_end[i] - start_of;
		if (f->rank)
			f->rank(p, f, p->ranks[i]);
		for (uint32_t j = 0; f->loop && j < p->ranks[i]->nloops && !p->out->failed; j++)
			f->loop(p, f, p->ranks[i], &p->ranks[i]->loops[j]);
	}
	if (p->out->len == header && !p->out->failed) { /* no sample: no family */
		p->out->len = start;
		p->out->data[start] = '\0';
	}
}

/* A pid that was used again names the process that has it now: a series must not appear twice. */
static bool page_superseded(const struct snapshot *s, uint32_t at)
{
	const struct rank_view *own = &s->ranks[at];

	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];

		if (r->pid != own->pid || i == at)
			continue;
		if (r->start_mono_ns > own->start_mono_ns ||
		    (r->start_mono_ns == own->start_mono_ns && i < at))
			return true;
	}
	return false;
}

static void page_collect(struct page *p)
{
	for (uint32_t i = 0; i < p->s->nranks && p->nranks < PROMETHEUS_RANKS; i++)
		if (!page_superseded(p->s, i))
			p->ranks[p->nranks++] = &p->s->ranks[i];
	for (size_t i = 0; i < p->nranks && !p->labels.failed; i++)
		rank_labels(p, i);
	p->out->failed |= p->labels.failed;
	p->attach = calloc(p->s->nattach ? p->s->nattach : 1, sizeof(const struct attach_view *));
	if (!p->attach) {
		p->out->failed = true;
		return;
	}
	for (uint32_t i = 0; i < p->s->nattach; i++)
		p->attach[p->nattach++] = &p->s->attach[i];
	qsort(p->attach, p->nattach, sizeof(const struct attach_view *), page_attach_order);
}

void prometheus_text(struct buffer *out, const struct snapshot *s)
{
	struct page *p = calloc(1, sizeof(*p));

	if (!p) {
		out->failed = true;
		return;
	}
	p->out = out;
	p->s = s;
	if (s)
		page_collect(p);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !out->failed; i++)
		family_text(p, &families[i]);
	for (size_t i = 0; i < PAGE_PROGRAM_FAMILIES && !out->failed; i++)
		family_text(p, &page_program_families[i]);
	for (size_t i = 0; i < PAGE_STORE_FAMILIES && !out->failed; i++)
		family_text(p, &page_store_families[i]);
	buffer_free(&p->labels);
	free(p->attach);
	free(p);
}
