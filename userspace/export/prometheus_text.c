/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_text.c - a page: its samples, its families, its two formats. */
#include "userspace/export/prometheus_text.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/export/metric.h"
#include "userspace/export/prometheus_private.h"

#define NS_PER_S 1000000000ll

/* About what a page has, and each process and job adds, so that it need not be moved as it grows.
 */
#define PAGE_START 16384
#define PAGE_EACH  5000

/* OpenMetrics names the family without what its samples' names end in. */
static size_t family_len(const struct family *f)
{
	size_t len = strlen(f->name);

	if (f->type == COUNTER)
		len -= strlen("_total");
	if (f->type == INFO)
		len -= strlen("_info");
	return len;
}

/* ---- samples
 * ------------------------------------------------------------------------------------- */

static void page_since_start(struct page *p)
{
	bool anew = p->family->anew;

	p->since_ns = p->s && !anew ? p->s->session_ns : 0;
	p->since_real_ns = !p->s ? 0 : anew ? p->s->opened_real_ns : p->s->session_real_ns;
}

struct buffer *page_part(struct page *p, const char *name, const char *ending,
			 const struct rank_view *r)
{
	page_since_start(p);
	metric_name(p->out, name);
	metric_name(p->out, ending);
	p->labels_at = p->out->len;
	if (!r) {
		buffer_add(p->out, "{", 1);
		return p->out;
	}
	p->since_ns = r->observed_ns;
	p->since_real_ns = r->since_real_ns;
	buffer_add(p->out, p->label, p->label_len);
	return p->out;
}

struct buffer *page_sample(struct page *p, const char *name, const struct rank_view *r)
{
	return page_part(p, name, "", r);
}

/* UTC; 0: not known, or not to be believed. */
static int64_t page_since(const struct page *p)
{
	const struct snapshot *s = p->s;

	if (!s || s->real_ns <= 0)
		return 0;
	if (p->since_real_ns > 0)
		return p->since_real_ns < s->real_ns ? p->since_real_ns : 0;
	if (!p->since_ns || p->since_ns > s->mono_ns ||
	    (int64_t)(s->mono_ns - p->since_ns) > s->real_ns)
		return 0;
	return s->real_ns - (int64_t)(s->mono_ns - p->since_ns);
}

/* To the second: so wall time that is adjusted by and by does not move it. */
void page_created(struct page *p)
{
	size_t len = p->labels_end - p->labels_at;
	int64_t since_ns = page_since(p);
	char *at;

	if (p->format != PROMETHEUS_OPENMETRICS || p->out->failed || since_ns <= 0)
		return;
	buffer_add(p->out, p->family->name, family_len(p->family));
	metric_name(p->out, "_created");
	at = buffer_reserve(p->out, len);
	if (!at)
		return;
	memcpy(at, p->out->data + p->labels_at, len);
	p->out->len += len;
	metric_name(p->out, len ? "} " : " ");
	metric_uint(p->out, (uint64_t)since_ns / NS_PER_S);
}

static void page_ended(struct page *p)
{
	if (p->family->type == COUNTER && !p->family->rank && !p->family->loop)
		page_created(p);
}

void page_value_uint(struct page *p, struct buffer *out, uint64_t value)
{
	p->labels_end = out->len;
	metric_value_uint(out, value);
	page_ended(p);
}

void page_value_ns(struct page *p, struct buffer *out, uint64_t ns)
{
	p->labels_end = out->len;
	metric_value_ns(out, ns);
	page_ended(p);
}

void page_value_real(struct page *p, struct buffer *out, double value)
{
	p->labels_end = out->len;
	metric_value_real(out, value);
	page_ended(p);
}

void page_plain(struct page *p, const struct family *f, uint64_t value)
{
	page_since_start(p);
	metric_name(p->out, f->name);
	p->labels_at = p->labels_end = p->out->len;
	buffer_add(p->out, " ", 1);
	metric_uint(p->out, value);
	page_ended(p);
}

void page_plain_real(struct page *p, const struct family *f, double value, int decimals)
{
	buffer_printf(p->out, "%s %.*f\n", f->name, decimals, value);
}

/* ---- families
 * ------------------------------------------------------------------------------------ */

static const struct family_list *const tables[] = {
	&page_own_families,   &page_loop_families,    &page_rank_families,    &page_job_families,
	&page_probe_families, &page_program_families, &page_monitor_families, &page_health_families,
	&page_store_families, &page_export_families,  &page_last_families,
};

static const char *const type_name[] = {[GAUGE] = "gauge",
					[COUNTER] = "counter",
					[HISTOGRAM] = "histogram",
					[SUMMARY] = "summary",
					[INFO] = "info"};

static bool ends(const char *name, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !memcmp(name + len - n, with, n);
}

static const char *family_unit(const struct family *f)
{
	static const char *const unit[] = {"seconds", "bytes", "ratio"};

	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (ends(f->name, family_len(f), unit[i]))
			return unit[i];
	return "";
}

static void family_header(struct page *p, const struct family *f)
{
	int len = (int)family_len(f);
	const char *unit = family_unit(f);

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

static void family_jobs(struct page *p, const struct family *f)
{
	for (size_t i = 0; i < p->njobs && !p->out->failed; i++) {
		p->job_first = p->first[i];
		if (f->job && p->jobs[i]->told_here)
			f->job(p, f, p->jobs[i]);
		if (f->job_part)
			f->job_part(p, f, p->jobs[i]);
	}
}

static void family_text(struct page *p, const struct family *f)
{
	size_t start = p->out->len, header;

	p->family = f;
	family_header(p, f);
	header = p->out->len;
	if (f->all)
		f->all(p, f);
	family_jobs(p, f);
	for (size_t i = 0; f->way && p->s && i < EXPORT_VIEWS && p->s->exports[i].name; i++)
		f->way(p, f, &p->s->exports[i]);
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
	if (p->out->len == header && !p->out->failed) { /* no sample: no family */
		p->out->len = start;
		p->out->data[start] = '\0';
	}
}

/* ---- pages
 * --------------------------------------------------------------------------------------- */

const char *prometheus_content_type(enum prometheus_format format)
{
	if (format == PROMETHEUS_OPENMETRICS)
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	return "text/plain; version=0.0.4; charset=utf-8";
}

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
	if (s && page_who(p))
		out->failed = true;
	buffer_reserve(out, PAGE_START + (p->nranks + p->njobs) * PAGE_EACH);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t j = 0; j < tables[i]->count && !out->failed; j++)
			family_text(p, &tables[i]->family[j]);
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
			const struct family *f = &tables[i]->family[j];

			buffer_printf(out, "%s\t%s\t%s\t%s\t%s\n", f->name, type_name[f->type],
				      family_unit(f), f->labels, f->help);
		}
	}
}
