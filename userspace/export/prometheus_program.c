/* SPDX-License-Identifier: Apache-2.0 */
/* How much jobs get done, and the time of their accelerators; absent where it is not known. */
#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

#define NS_PER_S 1e9

static void rate(struct page *p, const struct family *f, const struct job_view *j, double steps,
		 double elapsed)
{
	if (steps > 0) {
		metric_label(page_job(p, f, j), "over", "steps");
		page_value_real(p, p->out, steps);
	}
	if (elapsed > 0) {
		metric_label(page_job(p, f, j), "over", "observed");
		page_value_real(p, p->out, elapsed);
	}
}

static void samples(struct page *p, const struct family *f, const struct job_view *j)
{
	rate(p, f, j, j->program.steps.samples, j->program.elapsed.samples);
}

static void tokens(struct page *p, const struct family *f, const struct job_view *j)
{
	rate(p, f, j, j->program.steps.tokens, j->program.elapsed.tokens);
}

static void flops(struct page *p, const struct family *f, const struct job_view *j)
{
	rate(p, f, j, j->program.steps.flops, j->program.elapsed.flops);
}

static void mfu(struct page *p, const struct family *f, const struct job_view *j)
{
	rate(p, f, j, j->program.steps.mfu, j->program.elapsed.mfu);
}

static void program_goodput(struct page *p, const struct family *f, const struct job_view *j)
{
	if (j->program.program > 0)
		page_value_real(p, page_job(p, f, j), j->program.program);
}

static void accelerator_time(struct page *p, const struct family *f, const struct job_view *j)
{
	for (int b = 0; b < BUCKETS_TOLD; b++) {
		if (j->accelerator_ns[b] <= 0)
			continue;
		metric_label(page_job(p, f, j), "bucket", bucket_name[b]);
		page_value_real(p, p->out, j->accelerator_ns[b] / NS_PER_S);
	}
}

static void price(struct page *p, const struct family *f)
{
	if (!p->s || p->s->program.price <= 0)
		return;
	metric_label(page_sample(p, f->name, NULL), "currency", p->s->program.currency);
	page_value_real(p, p->out, p->s->program.price);
}

static const struct family program_families[] = {
	{"gpbpf_job_samples_per_second", GAUGE, OF_JOB ", over",
	 "Samples a second: over the time of steps, and, of steps that count, over observed time.",
	 .job = samples},
	{"gpbpf_job_tokens_per_second", GAUGE, OF_JOB ", over", "Tokens a second, likewise.",
	 .job = tokens},
	{"gpbpf_job_flops_per_second", GAUGE, OF_JOB ", over",
	 "Floating-point operations a second, likewise.", .job = flops},
	{"gpbpf_job_mfu_ratio", GAUGE, OF_JOB ", over",
	 "The same as a share of the peak of the job's accelerators.", .job = mfu},
	{"gpbpf_job_program_goodput_ratio", GAUGE, OF_JOB,
	 "MFU of productive time: times the goodput ratio it is the MFU over observed time.",
	 .job = program_goodput},
	{"gpbpf_job_accelerator_seconds", GAUGE, OF_JOB ", bucket",
	 "Where the time of the accelerators of this node's ranks of a job went, over all runs, with "
	 "outages: "
	 "sum over nodes.",
	 .job_part = accelerator_time},
	{"gpbpf_accelerator_hour_price", GAUGE, "currency",
	 "Price of an accelerator-hour that was given: times accelerator time in hours it is what a job "
	 "cost.",
	 .all = price},
};
const struct family_list page_program_families = FAMILY_LIST(program_families);
