/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

/* Whoever gives no name is called by its first process. */
struct buffer *page_job(struct page *p, const struct family *f, const struct job_view *j)
{
	char unnamed[24];

	snprintf(unnamed, sizeof(unnamed), "pid-%u", j->first_pid);
	metric_label(page_sample(p, f->name, NULL), "job_id", *j->name ? j->name : unnamed);
	metric_label(p->out, "history", job_history(j->carried));
	return p->out;
}

/* Two jobs of one name (one ended long ago): the newer one has the series. */
bool page_job_shown(const struct snapshot *s, uint32_t at)
{
	for (uint32_t i = at + 1; i < s->njobs; i++) {
		if (*s->jobs[at].name && !strcmp(s->jobs[at].name, s->jobs[i].name))
			return false;
	}
	return true;
}

void page_job_time(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		char room[LEDGER_NAME_MAX];
		const char *name;
		uint64_t ns;

		for (uint32_t b = 0; (name = ledger_part(&j->ledger, &p->s->types, b, room, &ns)); b++) {
			metric_label(page_job(p, f, j), "bucket", name);
			metric_value_ns(p->out, ns);
		}
	}
}

void page_job_goodput(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		uint64_t observed_ns = ledger_elapsed(&j->ledger) - j->ledger.ns[BUCKET_UNOBSERVED];

		if (observed_ns)
			metric_value_real(page_job(p, f, j),
					  (double)j->ledger.ns[BUCKET_GOODPUT] / (double)observed_ns);
	}
}

void page_job_window_goodput(struct page *p, const struct family *f)
{
	char name[16];

	PAGE_EACH_JOB(p, j)
	{
		for (int k = 0; k < WINDOWS_MAX && j->windows[k].length_ns; k++) {
			const struct window_view *w = &j->windows[k];
			uint64_t observed_ns = window_elapsed(w) - w->ns[BUCKET_UNOBSERVED];

			if (!observed_ns)
				continue;
			metric_label(page_job(p, f, j), "window", window_name(name, w->length_ns));
			metric_value_real(p->out, (double)w->ns[BUCKET_GOODPUT] / (double)observed_ns);
		}
	}
}

void page_job_elapsed(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_ns(page_job(p, f, j), ledger_elapsed(&j->ledger));
}

void page_job_excluded(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		if (j->ledger.ns[BUCKET_EXCLUDED])
			metric_value_ns(page_job(p, f, j), j->ledger.ns[BUCKET_EXCLUDED]);
	}
}

void page_job_productive(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_ns(page_job(p, f, j), j->ledger.productive_gross_ns);
}

void page_job_wasted(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_ns(page_job(p, f, j), j->wasted_gross_ns);
}

void page_job_disruptions(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_uint(page_job(p, f, j), j->ledger.disruptions);
}

void page_job_runs(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_uint(page_job(p, f, j), j->runs);
}

void page_job_starts(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_uint(page_job(p, f, j), j->starts);
}

void page_job_step(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	metric_value_uint(page_job(p, f, j), j->last_step);
}

void page_job_state(struct page *p, const struct family *f)
{
	PAGE_EACH_JOB(p, j)
	{
		metric_label(page_job(p, f, j), "state", job_state_name[j->state]);
		metric_value_uint(p->out, 1);
	}
}
