/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.c - whole pages: families in their two formats. */
#include "userspace/export/prometheus/prometheus_text.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/export/prometheus/prometheus_private.h"

/* Approximate size of a page, and of each process and job, so that the buffer is not moved while it
 * grows. */
#define PAGE_START 16384
#define PAGE_EACH  5000

/* ---- families -------------------------------------------------------------------------------- */

static const struct metric_family_list *const tables[] = {
	&page_own_families,   &page_loop_families,    &page_rank_families,    &page_job_families,
	&page_probe_families, &page_program_families, &page_monitor_families, &page_health_families,
	&page_store_families, &page_export_families,  &page_last_families,
};

static const char *const type_name[] = {[GAUGE] = "gauge",
					[COUNTER] = "counter",
					[HISTOGRAM] = "histogram",
					[SUMMARY] = "summary",
					[INFO] = "info"};

static bool prometheus_ends_with(const char *name, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !memcmp(name + len - n, with, n);
}

static const char *prometheus_text_family_unit(const struct metric_family *f)
{
	static const char *const unit[] = {"seconds", "bytes", "ratio"};

	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (prometheus_ends_with(f->name, page_family_len(f), unit[i]))
			return unit[i];
	return "";
}

static void prometheus_text_family_header(struct page *p, const struct metric_family *f)
{
	int len = (int)page_family_len(f);
	const char *unit = prometheus_text_family_unit(f);

	if (p->format == PROMETHEUS_TEXT) {
		buffer_printf(p->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
			      f->type == INFO ? "gauge" : type_name[f->type]);
		return;
	}
	buffer_printf(p->out, "# TYPE %.*s %s\n", len, f->name, type_name[f->type]);
	if (*unit)
		buffer_printf(p->out, "# UNIT %.*s %s\n", len, f->name, unit);
	buffer_printf(p->out, "# HELP %.*s %s\n", len, f->name, f->help);
}

static void prometheus_text_family_jobs(struct page *p, const struct metric_family *f)
{
	for (size_t i = 0; i < p->njobs && !p->out->failed; i++) {
		p->job_first = p->first[i];
		if (f->job && p->jobs[i]->reported_here)
			f->job(p, f, p->jobs[i]);
		if (f->job_part)
			f->job_part(p, f, p->jobs[i]);
	}
}

static void prometheus_text_family_text(struct page *p, const struct metric_family *f)
{
	size_t start = p->out->len, header;

	p->family = f;
	prometheus_text_family_header(p, f);
	header = p->out->len;
	if (f->all)
		f->all(p, f);
	prometheus_text_family_jobs(p, f);
	for (size_t i = 0; f->exporter && p->s && i < EXPORT_VIEWS && p->s->exports[i].name; i++)
		f->exporter(p, f, &p->s->exports[i]);
	for (size_t i = 0; i < p->nranks && !p->out->failed; i++) {
		size_t start_of = i ? p->label_end[i - 1] : 0;

		p->label = p->labels.data + start_of;
		p->label_len = p->label_end[i] - start_of;
		p->label_pid = p->by_pid[i];
		p->label_job = p->of_job[i];
		if (f->rank)
			f->rank(p, f, p->ranks[i]);
		for (uint32_t j = 0; f->loop && j < p->ranks[i]->nloops && !p->out->failed; j++)
			f->loop(p, f, p->ranks[i], &p->ranks[i]->loops[j]);
	}
	if (p->out->len == header && !p->out->failed) { /* a family without samples is omitted */
		p->out->len = start;
		p->out->data[start] = '\0';
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

void prometheus_text_own(struct buffer *out, const struct snapshot *s,
			 const struct prometheus_own *own, enum prometheus_format format)
{
	struct page *p = calloc(1, sizeof(*p));

	if (!p) {
		out->failed = true;
		return;
	}
	p->out = out;
	p->s = s;
	p->own = own;
	p->format = format;
	if (s && page_select(p))
		out->failed = true;
	buffer_reserve(out, PAGE_START + (p->nranks + p->njobs) * PAGE_EACH);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t j = 0; j < tables[i]->count && !out->failed; j++)
			prometheus_text_family_text(p, &tables[i]->family[j]);
	if (format == PROMETHEUS_OPENMETRICS)
		buffer_printf(out, "# EOF\n");
	buffer_free(&p->labels);
	free(p->attach);
	free(p);
}

void prometheus_text(struct buffer *out, const struct snapshot *s, enum prometheus_format format)
{
	prometheus_text_own(out, s, NULL, format);
}

void prometheus_metrics(struct buffer *out)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (size_t j = 0; j < tables[i]->count; j++) {
			const struct metric_family *f = &tables[i]->family[j];

			buffer_printf(out, "%s\t%s\t%s\t%s\t%s\n", f->name, type_name[f->type],
				      prometheus_text_family_unit(f), f->labels, f->help);
		}
	}
}
