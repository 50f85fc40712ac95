/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.c - writes whole pages of metrics, as Prometheus text or as OpenMetrics, and the
 * list of metrics. */
#include "userspace/export/prometheus/prometheus_text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/prometheus/prometheus_private.h"

/* Bytes reserved for a page: PAGE_START, and PAGE_EACH for each process and job, so that the buffer
 * is rarely moved while it grows. */
#define PAGE_START	   16384
#define PAGE_EACH	   5000
#define METRIC_LABELS_ROOM 64
#define TEXT_ROWS	   192

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

/* ---- rows of a page -------------------------------------------------------------------------- */

/* The rows of all tables, in the order of a page. Measures that have no row in a table come before
 * the rows of the last table. */
static struct text_row {
	struct metric_family family;
	const struct measure *measure; /* NULL: the functions of the family write its samples */
	char labels[METRIC_LABELS_ROOM];
} text_rows[TEXT_ROWS];
static size_t text_row_count;

static void prometheus_text_add_row(const struct metric_family *f)
{
	static const char *const owner[] = {
		[MEASURE_JOB] = OF_JOB, [MEASURE_RANK] = OF_RANK, [MEASURE_LOOP] = OF_LOOP};
	const struct measure *m = f->help ? NULL : measure_of_prometheus(f->name);
	struct text_row *row = &text_rows[text_row_count];

	if (text_row_count == TEXT_ROWS)
		return;
	text_row_count++;
	row->family = *f;
	row->measure = m;
	if (!m)
		return;
	snprintf(row->labels, sizeof(row->labels), "%s%s%s", owner[m->owner], m->label ? ", " : "",
		 m->label ? m->label : "");
	row->family.labels = row->labels;
	row->family.type = m->counter ? COUNTER : GAUGE;
	row->family.help = m->help;
}

static bool prometheus_text_has_row(const struct measure *m)
{
	size_t i = 0;

	while (i < text_row_count && text_rows[i].measure != m)
		i++;
	return i < text_row_count;
}

static void prometheus_text_add_measures(void)
{
	const struct measure *m;

	for (size_t i = 0; (m = measure_at(i)); i++)
		if (m->prometheus && !prometheus_text_has_row(m))
			prometheus_text_add_row(&(struct metric_family)MEASURED(m->prometheus));
}

static void prometheus_text_make_rows(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i] == &page_last_families)
			prometheus_text_add_measures();
		for (size_t j = 0; j < tables[i]->count; j++)
			prometheus_text_add_row(&tables[i]->family[j]);
	}
}

/* Returns row i of a page; NULL: no more rows. */
static const struct text_row *prometheus_text_row(size_t i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prometheus_text_make_rows);
	return i < text_row_count ? &text_rows[i] : NULL;
}

/* ---- samples of a row ------------------------------------------------------------------------ */

static void prometheus_text_family_jobs(struct page *p, const struct metric_family *f,
					const struct measure *m)
{
	for (size_t i = 0; i < p->owners.njobs && !p->out->failed; i++) {
		const struct job_view *j = p->owners.jobs[i].job;

		p->job_first = p->owners.jobs[i].first;
		if (m && m->owner == MEASURE_JOB && j->reported_here)
			page_measure(p, m, j, NULL, NULL);
		if (f->job && j->reported_here)
			f->job(p, f, j);
		if (f->job_part)
			f->job_part(p, f, j);
	}
}

static void prometheus_text_family_ranks(struct page *p, const struct metric_family *f,
					 const struct measure *m)
{
	bool rank = f->rank || (m && m->owner == MEASURE_RANK),
	     loop = f->loop || (m && m->owner == MEASURE_LOOP);

	for (size_t i = 0; (rank || loop) && i < p->owners.nranks && !p->out->failed; i++) {
		const struct owner_rank *o = &p->owners.ranks[i];
		size_t start_of = i ? p->label_end[i - 1] : 0;

		p->label = p->labels.data + start_of;
		p->label_len = p->label_end[i] - start_of;
		p->label_pid = o->by_pid;
		p->label_job = o->job_shown;
		if (rank && m)
			page_measure(p, m, o->job, o->rank, NULL);
		else if (rank)
			f->rank(p, f, o->rank);
		for (uint32_t j = 0; loop && j < o->rank->nloops && !p->out->failed; j++) {
			if (m)
				page_measure(p, m, o->job, o->rank, &o->rank->loops[j]);
			else
				f->loop(p, f, o->rank, &o->rank->loops[j]);
		}
	}
}

static void prometheus_text_family_text(struct page *p, const struct text_row *row)
{
	const struct metric_family *f = &row->family;
	const struct measure *m = row->measure;
	size_t start = p->out->len, header;

	p->family = f;
	p->of_process = m ? m->owner != MEASURE_JOB : f->rank || f->loop;
	prometheus_text_family_header(p, f);
	header = p->out->len;
	if (f->all)
		f->all(p, f);
	prometheus_text_family_jobs(p, f, m);
	for (size_t i = 0; f->exporter && p->s && i < EXPORT_VIEWS && p->s->exports[i].name; i++)
		f->exporter(p, f, &p->s->exports[i]);
	prometheus_text_family_ranks(p, f, m);
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
	const struct text_row *row;

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
	buffer_reserve(out, PAGE_START + (p->owners.nranks + p->owners.njobs) * PAGE_EACH);
	for (size_t i = 0; !out->failed && (row = prometheus_text_row(i)); i++)
		prometheus_text_family_text(p, row);
	if (format == PROMETHEUS_OPENMETRICS)
		buffer_printf(out, "# EOF\n");
	buffer_free(&p->labels);
	owners_free(&p->owners);
	free(p->attach);
	free(p);
}

void prometheus_text(struct buffer *out, const struct snapshot *s, enum prometheus_format format)
{
	prometheus_text_own(out, s, NULL, format);
}

void prometheus_metrics(struct buffer *out)
{
	const struct text_row *row;

	for (size_t i = 0; (row = prometheus_text_row(i)); i++) {
		const struct metric_family *f = &row->family;

		buffer_printf(out, "%s\t%s\t%s\t%s\t%s\n", f->name, type_name[f->type],
			      prometheus_text_family_unit(f), f->labels, f->help);
	}
}
