/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_job.c - writes the series of jobs; each covers all runs of a job. */
#include "userspace/export/prometheus/prometheus_private.h"

static struct buffer *prometheus_job_job(struct page *p, const struct metric_family *f,
					 const struct job_view *j)
{
	return page_job(p, f, "", j);
}

static void prometheus_job_info(struct page *p, const struct metric_family *f,
				const struct job_view *j)
{
	prometheus_job_job(p, f, j);
	metric_label(p->out, "uid", j->uid);
	metric_label(p->out, "history", job_history(j->carried));
	if (j->world_size >= 0)
		metric_label_uint(p->out, "world_size", (uint64_t)j->world_size);
	page_value_uint(p, p->out, 1);
}

static void prometheus_job_world_size(struct page *p, const struct metric_family *f,
				      const struct job_view *j)
{
	if (j->world_size >= 0)
		page_value_uint(p, prometheus_job_job(p, f, j), (uint64_t)j->world_size);
}

static void prometheus_job_window_goodput(struct page *p, const struct metric_family *f,
					  const struct job_view *j)
{
	char name[16];

	for (int k = 0; k < WINDOWS_MAX && j->windows[k].length_ns; k++) {
		const struct window_view *w = &j->windows[k];
		uint64_t observed_ns = window_elapsed(w) - w->ns[BUCKET_UNOBSERVED];

		if (!observed_ns)
			continue;
		metric_label(prometheus_job_job(p, f, j), "window",
			     window_name(name, w->length_ns));
		page_value_real(p, p->out, (double)w->ns[BUCKET_GOODPUT] / (double)observed_ns);
	}
}

/* Writes a histogram of the step times of one rank for the whole job. Ranks wait for each other, so
 * their steps take the same time; histograms of all ranks would be most of a page. */
static void prometheus_job_step_seconds_of(struct page *p, const struct metric_family *f,
					   const struct job_view *j, const struct rank_view *r,
					   const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	uint64_t count = 0;

	for (int i = 0; i <= DEVIATION_BOUNDS; i++) {
		count += t->bucket[i];
		page_job(p, f, "_bucket", j);
		page_loop_label(p, l);
		if (i < DEVIATION_BOUNDS)
			metric_label_seconds(p->out, "le", deviation_bound_ns[i]);
		else
			metric_label(p->out, "le", "+Inf");
		page_value_uint(p, p->out, count);
	}
	page_job(p, f, "_sum", j);
	page_loop_label(p, l);
	page_value_ns(p, p->out, t->sum_ns);
	page_job(p, f, "_count", j);
	page_loop_label(p, l);
	page_value_uint(p, p->out, count);
	p->since_ns = r->observed_ns;
	p->since_real_ns = r->since_real_ns;
	page_created(p);
}

static void prometheus_job_step_seconds(struct page *p, const struct metric_family *f,
					const struct job_view *j)
{
	const struct rank_view *r = p->job_first;

	for (uint32_t k = 0; r && k < r->nloops; k++)
		if (measure_loop_known(&r->loops[k]))
			prometheus_job_step_seconds_of(p, f, j, r, &r->loops[k]);
}

static void prometheus_job_scheduling(struct page *p, const struct metric_family *f,
				      const struct job_view *j)
{
	for (int i = 0; j->scheduling.known && i < SCHEDULE_COUNT; i++) {
		metric_label(prometheus_job_job(p, f, j), "part", schedule_name[i]);
		page_value_ns(p, p->out, j->scheduling.ns[i]);
	}
}

static const struct metric_family job_families[] = {
	{"gpbpf_job_info", INFO, OF_JOB ", uid, history, world_size",
	 "A job. history: this_node, or carried if its history came from another node.",
	 .job = prometheus_job_info},
	{"gpbpf_job_world_size", GAUGE, OF_JOB,
	 "World size that a job announced, whether or not all ranks run; absent if unknown.",
	 .job = prometheus_job_world_size},
	{"gpbpf_job_accelerators", GAUGE, OF_JOB,
	 "Accelerators of this node's ranks of a job: sum over nodes.", .job_part = page_job_member,
	 MEMBER(struct job_view, accelerators), .sparse = true},
	MEASURED("gpbpf_job_time_seconds"),
	MEASURED("gpbpf_job_elapsed_seconds"),
	{"gpbpf_job_excluded_seconds", GAUGE, OF_JOB,
	 "Time excluded from a job, and from its elapsed time.", .job = page_job_member,
	 MEMBER(struct job_view, ledger.ns[BUCKET_EXCLUDED]), .ns = true, .sparse = true},
	MEASURED("gpbpf_job_goodput_ratio"),
	{"gpbpf_job_window_goodput_ratio", GAUGE, OF_JOB ", window",
	 "Share of a job's observed time in the window that became progress; outages and silence count as observed.",
	 .job = prometheus_job_window_goodput},
	MEASURED("gpbpf_job_productive_seconds_total"),
	MEASURED("gpbpf_job_wasted_seconds_total"),
	MEASURED("gpbpf_job_disruptions_total"),
	MEASURED("gpbpf_job_runs_total"),
	{"gpbpf_job_starts_since_step", GAUGE, OF_JOB, "Runs begun since the last step.",
	 .job = page_job_member, MEMBER(struct job_view, starts)},
	{"gpbpf_job_futile_runs", GAUGE, OF_JOB,
	 "Failed runs in a row that saved no step beyond those saved before: 3 are a crash loop.",
	 .job = page_job_member, MEMBER(struct job_view, futile_runs)},
	{"gpbpf_job_step_seconds", HISTOGRAM, OF_JOB ", loop, le",
	 "Step times of a job: those of its lowest rank in the last run on this node, since that process is watched.",
	 .job = prometheus_job_step_seconds},
	{"gpbpf_job_scheduling_seconds", GAUGE, OF_JOB ", part",
	 "Time from the creation of a job's first pod to its first process, by part: until the pod had a node (schedule), its images (image), and the process began (start); in no bucket.",
	 .job = prometheus_job_scheduling},
	MEASURED("gpbpf_job_step_number"),
	MEASURED("gpbpf_job_state"),
};
const struct metric_family_list page_job_families = FAMILY_LIST(job_families);

/* ---- jobs' work, and the time of their accelerators ------------------------------------------ */

#define NS_PER_S 1e9

static void prometheus_job_rate(struct page *p, const struct metric_family *f,
				const struct job_view *j, double steps, double elapsed)
{
	if (steps > 0) {
		metric_label(prometheus_job_job(p, f, j), "over", "steps");
		page_value_real(p, p->out, steps);
	}
	if (elapsed > 0) {
		metric_label(prometheus_job_job(p, f, j), "over", "observed");
		page_value_real(p, p->out, elapsed);
	}
}

static void prometheus_job_samples(struct page *p, const struct metric_family *f,
				   const struct job_view *j)
{
	prometheus_job_rate(p, f, j, j->program.steps.samples, j->program.elapsed.samples);
}

static void prometheus_job_tokens(struct page *p, const struct metric_family *f,
				  const struct job_view *j)
{
	prometheus_job_rate(p, f, j, j->program.steps.tokens, j->program.elapsed.tokens);
}

static void prometheus_job_flops(struct page *p, const struct metric_family *f,
				 const struct job_view *j)
{
	/* A lower bound is not exported, as a sample cannot say that it is one. */
	if (j->program.source != PROGRAM_lower_bound)
		prometheus_job_rate(p, f, j, j->program.steps.flops, j->program.elapsed.flops);
}

static void prometheus_job_operations(struct page *p, const struct metric_family *f,
				      const struct job_view *j)
{
	double sum = operations_sum(&j->program.operations);

	if (j->program.source != PROGRAM_measured)
		return;
	for (int k = 0; k < OPERATION_KIND_COUNT; k++) {
		if (!(j->program.operations.kind[k] > 0))
			continue;
		metric_label(prometheus_job_job(p, f, j), "kind", operation_kind_name[k]);
		page_value_real(p, p->out, j->program.operations.kind[k] / sum);
	}
}

static void prometheus_job_mfu(struct page *p, const struct metric_family *f,
			       const struct job_view *j)
{
	if (j->program.source != PROGRAM_lower_bound)
		prometheus_job_rate(p, f, j, j->program.steps.mfu, j->program.elapsed.mfu);
}

static void prometheus_job_hfu(struct page *p, const struct metric_family *f,
			       const struct job_view *j)
{
	if (j->program.source != PROGRAM_lower_bound)
		prometheus_job_rate(p, f, j, j->program.steps.hfu, j->program.elapsed.hfu);
}

static void prometheus_job_program_goodput(struct page *p, const struct metric_family *f,
					   const struct job_view *j)
{
	if (j->program.program > 0 && j->program.source != PROGRAM_lower_bound)
		page_value_real(p, prometheus_job_job(p, f, j), j->program.program);
}

static void prometheus_job_accelerator_time(struct page *p, const struct metric_family *f,
					    const struct job_view *j)
{
	for (int b = 0; b < BUCKETS_EXPORTED; b++) {
		if (j->accelerator_ns[b] <= 0)
			continue;
		metric_label(prometheus_job_job(p, f, j), "bucket", bucket_name[b]);
		page_value_real(p, p->out, j->accelerator_ns[b] / NS_PER_S);
	}
}

static void prometheus_job_price(struct page *p, const struct metric_family *f)
{
	if (!p->s || p->s->program.price <= 0)
		return;
	metric_label(page_sample(p, f->name, NULL), "currency", p->s->program.currency);
	page_value_real(p, p->out, p->s->program.price);
}

static const struct metric_family program_families[] = {
	{"gpbpf_job_samples_per_second", GAUGE, OF_JOB ", over",
	 "Samples per second: over step time, or (only steps that count as progress) over observed time.",
	 .job = prometheus_job_samples},
	{"gpbpf_job_tokens_per_second", GAUGE, OF_JOB ", over",
	 "Tokens per second; over as in gpbpf_job_samples_per_second.",
	 .job = prometheus_job_tokens},
	{"gpbpf_job_flops_per_second", GAUGE, OF_JOB ", over",
	 "Floating-point operations per second; over as in gpbpf_job_samples_per_second.",
	 .job = prometheus_job_flops},
	{"gpbpf_job_operations_ratio", GAUGE, OF_JOB ", kind",
	 "Share of a kind of operators (attention, matmul, convolution) in the measured operations of a step.",
	 .job = prometheus_job_operations},
	{"gpbpf_job_mfu_ratio", GAUGE, OF_JOB ", over",
	 "Model FLOPs utilization: gpbpf_job_flops_per_second as a share of the peak of the job's accelerators for the types of numbers.",
	 .job = prometheus_job_mfu},
	{"gpbpf_job_hfu_ratio", GAUGE, OF_JOB ", over",
	 "Hardware FLOPs utilization: MFU with the measured operations that backward passes compute again.",
	 .job = prometheus_job_hfu},
	{"gpbpf_job_program_goodput_ratio", GAUGE, OF_JOB,
	 "MFU over productive time only; multiplied by the goodput ratio it is the MFU over observed time.",
	 .job = prometheus_job_program_goodput},
	{"gpbpf_job_accelerator_seconds", GAUGE, OF_JOB ", bucket",
	 "Accelerator time of a job's ranks on this node by bucket, over all runs, outages included; sum over nodes for the job.",
	 .job_part = prometheus_job_accelerator_time},
	{"gpbpf_accelerator_hour_price", GAUGE, "currency",
	 "Price of an accelerator-hour (--price); multiplied by a job's accelerator-hours it is the job's cost.",
	 .all = prometheus_job_price},
};
const struct metric_family_list page_program_families = FAMILY_LIST(program_families);
