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
		metric_value_real(p->out, steps);
	}
	if (elapsed > 0) {
		metric_label(page_job(p, f, j), "over", "observed");
		metric_value_real(p->out, elapsed);
	}
}

static void samples(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	rate(p, f, j, j->program.steps.samples, j->program.elapsed.samples);
}

static void tokens(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	rate(p, f, j, j->program.steps.tokens, j->program.elapsed.tokens);
}

static void flops(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	rate(p, f, j, j->program.steps.flops, j->program.elapsed.flops);
}

static void mfu(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	rate(p, f, j, j->program.steps.mfu, j->program.elapsed.mfu);
}

static void program_goodput(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		if (j->program.program > 0)
			metric_value_real(page_job(p, f, j), j->program.program);
	}
}

static double total_ns(const struct job_view *j)
{
	double ns = 0;

	for (int b = 0; b < BUCKETS_TOLD; b++)
		ns += j->accelerator_ns[b];
	return ns;
}

static void accelerator_time(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		for (int b = 0; total_ns(j) > 0 && b < BUCKETS_TOLD; b++) {
			metric_label(page_job(p, f, j), "bucket", bucket_name[b]);
			metric_value_real(p->out, j->accelerator_ns[b] / NS_PER_S);
		}
	}
}

static void cost(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		for (int b = 0; total_ns(j) > 0 && p->s->program.price > 0 && b < BUCKETS_TOLD; b++) {
			metric_label(page_job(p, f, j), "bucket", bucket_name[b]);
			metric_label(p->out, "currency", p->s->program.currency);
			metric_value_real(p->out, program_cost(&p->s->program, j->accelerator_ns[b]));
		}
	}
}

const struct family page_program_families[PAGE_PROGRAM_FAMILIES] = {
	{"gpbpf_job_samples_per_second", "gauge",
	 "Samples a second: over the time of steps, and, of steps that count, over observed time.",
	 .all = samples},
	{"gpbpf_job_tokens_per_second", "gauge", "Tokens a second, likewise.", .all = tokens},
	{"gpbpf_job_flops_per_second", "gauge", "Floating-point operations a second, likewise.",
	 .all = flops},
	{"gpbpf_job_mfu_ratio", "gauge", "The same as a share of the peak of the job's accelerators.",
	 .all = mfu},
	{"gpbpf_job_program_goodput_ratio", "gauge",
	 "MFU of productive time: times the goodput ratio it is the MFU over observed time.",
	 .all = program_goodput},
	{"gpbpf_job_accelerator_seconds", "gauge",
	 "Where the time of the job's accelerators on this node went: all ranks, all runs, outages.",
	 .all = accelerator_time},
	{"gpbpf_job_cost", "gauge", "The same as money, by the price of an accelerator-hour that was given.",
	 .all = cost},
};
