/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_page.c - selects the jobs and processes that have series on a page, and writes
 * samples. */
#include "userspace/export/prometheus/prometheus_private.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/buffer.h"
#include "userspace/base/utf8.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void metric_text(struct buffer *out, const char *s)
{
	buffer_add(out, s, strlen(s));
}

/* Writes a number without printf, which would be most of the cost of a page (tens of thousands of
 * numbers). These functions write digits backwards, from `at` on, into a text of METRIC_NUMBER
 * bytes, and return the first digit's position. */
#define METRIC_NUMBER 40

static char *prometheus_page_number_digits(char *at, uint64_t value, int least)
{
	for (; value || least > 0; least--) {
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

/* units: the value in units of 10^-decimals. Drops trailing zeros, but keeps `least` decimals. */
static char *prometheus_page_number_fixed(char *at, uint64_t units, int decimals, int least)
{
	uint64_t one = 1, part;

	for (int i = 0; i < decimals; i++)
		one *= 10;
	part = units % one;
	if (!part)
		decimals = least;
	for (; decimals > least && part % 10 == 0; decimals--)
		part /= 10;
	if (decimals) {
		at = prometheus_page_number_digits(at, part, decimals);
		*--at = '.';
	}
	return prometheus_page_number_digits(at, units / one, 1);
}

static void prometheus_page_number_add(struct buffer *out, const char *at, const char *end)
{
	buffer_add(out, at, (size_t)(end - at));
}

static void metric_label_open(struct buffer *out, const char *name)
{
	if (out->len && out->data[out->len - 1] != '{')
		buffer_add(out, ",", 1);
	metric_text(out, name);
	buffer_add(out, "=\"", 2);
}

/* Returns how many bytes from text on can be copied unchanged: printable ASCII without escapes. */
static size_t prometheus_page_plain_bytes(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void metric_label(struct buffer *out, const char *name, const char *value)
{
	size_t len = strlen(value), plain = 0, n;
	uint32_t c;

	metric_label_open(out, name);
	for (size_t i = prometheus_page_plain_bytes(value, len); i < len; i += n) {
		n = utf8_decode(value + i, len - i, &c);
		if (n && utf8_columns(c) >= 0 && c != '"' && c != '\\')
			continue;
		buffer_add(out, value + plain, i - plain);
		if (!n || (c != '\n' && utf8_columns(c) < 0))
			buffer_add(out, "?", 1);
		else
			metric_text(out, c == '\n' ? "\\n" : c == '"' ? "\\\"" : "\\\\");
		n = n ? n : 1;
		plain = i + n;
	}
	buffer_add(out, value + plain, len - plain);
	buffer_add(out, "\"", 1);
}

void metric_label_uint(struct buffer *out, const char *name, uint64_t value)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	metric_label_open(out, name);
	*--at = '"';
	prometheus_page_number_add(out, prometheus_page_number_digits(at, value, 1), end);
}

void metric_label_seconds(struct buffer *out, const char *name, uint64_t ns)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	metric_label_open(out, name);
	*--at = '"';
	prometheus_page_number_add(out, prometheus_page_number_fixed(at, ns, 9, 1), end);
}

/* Writes the value and ends the line. */
static void metric_uint(struct buffer *out, uint64_t value)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	*--at = '\n';
	prometheus_page_number_add(out, prometheus_page_number_digits(at, value, 1), end);
}

void metric_name(struct buffer *out, const char *name)
{
	metric_text(out, name);
}

static void prometheus_page_value_fixed(struct buffer *out, uint64_t units, int decimals)
{
	char text[METRIC_NUMBER], *end = text + sizeof(text), *at = end;

	*--at = '\n';
	at = prometheus_page_number_fixed(at, units, decimals, 0);
	*--at = ' ';
	*--at = '}';
	prometheus_page_number_add(out, at, end);
}

/* Closes the labels, writes the value and ends the line. */
static void metric_value_uint(struct buffer *out, uint64_t value)
{
	prometheus_page_value_fixed(out, value, 0);
}

/* Like metric_value_uint(), but writes ns as seconds, exactly. */
static void metric_value_ns(struct buffer *out, uint64_t ns)
{
	prometheus_page_value_fixed(out, ns, 9);
}

/* Like metric_value_uint(), for a real number. Usual magnitudes are written without printf. */
static void metric_value_real(struct buffer *out, double value)
{
	if (value == 0 || (value >= 1e-3 && value < 1e6))
		prometheus_page_value_fixed(out, (uint64_t)llround(value * 1e9), 9);
	else if (value >= 1e-6 && value < 1e-3)
		prometheus_page_value_fixed(out, (uint64_t)llround(value * 1e12), 12);
	else
		buffer_printf(out, "} %.9g\n", isfinite(value) ? value : 0.0);
}

/* ---- one sample: its name, its labels of rank and loop, its value ---------------------------- */

#define NS_PER_S 1000000000ll

/* Returns the length of the family's name, without "_total" or "_info": in OpenMetrics only the
 * names of samples have these endings. */
size_t page_family_len(const struct metric_family *f)
{
	size_t len = strlen(f->name);

	if (f->type == COUNTER)
		len -= strlen("_total");
	if (f->type == INFO)
		len -= strlen("_info");
	return len;
}

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

/* Returns the UTC time at which the counter of the last sample started; 0: unknown or not
 * plausible. */
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

/* The creation time is rounded to seconds, so that small adjustments of the wall clock do not
 * change it. */
void page_created(struct page *p)
{
	size_t len = p->labels_end - p->labels_at;
	int64_t since_ns = page_since(p);
	char *at;

	if (p->format != PROMETHEUS_OPENMETRICS || p->out->failed || since_ns <= 0)
		return;
	buffer_add(p->out, p->family->name, page_family_len(p->family));
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
	if (p->family->type == COUNTER && !p->of_process)
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

void page_plain(struct page *p, const struct metric_family *f, uint64_t value)
{
	page_since_start(p);
	metric_name(p->out, f->name);
	p->labels_at = p->labels_end = p->out->len;
	buffer_add(p->out, " ", 1);
	metric_uint(p->out, value);
	page_ended(p);
}

void page_plain_real(struct page *p, const struct metric_family *f, double value, int decimals)
{
	buffer_printf(p->out, "%s %.*f\n", f->name, decimals, value);
}

/* A loop is identified only by its number, so that no series changes when another loop appears. */
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

struct buffer *page_job(struct page *p, const struct metric_family *f, const char *ending,
			const struct job_view *j)
{
	char room[EXPORT_JOB_ROOM];

	metric_label(page_part(p, f->name, ending, NULL), "job_id", export_job_name(j, room));
	if (j->ledger.start_ns > p->since_ns)
		p->since_ns = j->ledger.start_ns;
	p->since_real_ns = j->since_real_ns;
	if (j->carried) /* part of the count is from another node: its start is unknown here */
		p->since_ns = p->since_real_ns = 0;
	return p->out;
}

/* ---- members ----------------------------------------------------------------------------------
 */

/* Reads the member that the row names. Returns false if there is no sample. */
static bool page_member(const struct metric_family *f, const void *of, uint64_t *ret)
{
	*ret = 0; /* clear all 8 bytes, as the member may have fewer (little-endian) */
	memcpy(ret, (const char *)of + f->at, f->bytes);
	return *ret || !f->sparse;
}

static void page_value_member(struct page *p, const struct metric_family *f, uint64_t value)
{
	if (f->ns)
		page_value_ns(p, p->out, value);
	else
		page_value_uint(p, p->out, value);
}

void page_job_member(struct page *p, const struct metric_family *f, const struct job_view *j)
{
	uint64_t value;

	if (!page_member(f, j, &value))
		return;
	page_job(p, f, "", j);
	page_value_member(p, f, value);
}

void page_rank_member(struct page *p, const struct metric_family *f, const struct rank_view *r)
{
	uint64_t value;

	if (!page_member(f, r, &value))
		return;
	page_sample(p, f->name, r);
	page_value_member(p, f, value);
}

void page_loop_member(struct page *p, const struct metric_family *f, const struct rank_view *r,
		      const struct loop_view *l)
{
	uint64_t value;

	if (!page_member(f, l, &value))
		return;
	page_loop(p, f->name, r, l);
	page_value_member(p, f, value);
}

void page_export_member(struct page *p, const struct metric_family *f, const struct export_view *e)
{
	uint64_t value;

	if (!page_member(f, e, &value))
		return;
	metric_label(page_sample(p, f->name, NULL), "exporter", e->name);
	page_value_member(p, f, value);
}

static void page_plain_member(struct page *p, const struct metric_family *f, const void *of)
{
	uint64_t value;

	if (of && page_member(f, of, &value))
		page_plain(p, f, value);
}

void page_snapshot_member(struct page *p, const struct metric_family *f)
{
	page_plain_member(p, f, p->s);
}

void page_store_member(struct page *p, const struct metric_family *f)
{
	page_plain_member(p, f, p->s && p->s->store.kept ? &p->s->store : NULL);
}

void page_own_member(struct page *p, const struct metric_family *f)
{
	page_plain_member(p, f, p->own);
}

/* ---- measures -------------------------------------------------------------------------------- */

/* The only counter of a process that gets a _created sample: all counters of a process begin at the
 * same time. */
#define CREATED_BY "gpbpf_productive_seconds_total"

/* Begins the sample of a point: the labels of its owner, and the point's own label. */
static struct buffer *prometheus_page_point_labels(struct page *p, const struct measure_put *m,
						   const struct measure_point *point)
{
	if (m->rank) {
		page_sample(p, p->family->name, m->rank);
		if (m->loop)
			page_loop_label(p, m->loop);
	} else {
		page_job(p, p->family, "", m->job);
	}
	if (point->label)
		metric_label(p->out, m->measure->label, point->label);
	return p->out;
}

static void prometheus_page_point(void *ctx, const struct measure_put *m,
				  const struct measure_point *point)
{
	const struct measure *of = m->measure;
	struct page *p = ctx;

	if (of->rule == MEASURE_LABEL_SPARSE && !point->count)
		return;
	prometheus_page_point_labels(p, m, point);
	if (of->type == MEASURE_NS)
		page_value_ns(p, p->out, point->count);
	else if (of->type == MEASURE_REAL)
		page_value_real(p, p->out, point->real);
	else
		page_value_uint(p, p->out, point->count);
	if (m->rank && !strcmp(of->prometheus, CREATED_BY))
		page_created(p);
}

void page_measure(struct page *p, const struct measure *m, const struct job_view *j,
		  const struct rank_view *r, const struct loop_view *l)
{
	struct measure_put put = {
		.measure = m,
		.types = &p->s->types,
		.job = j,
		.rank = r,
		.loop = l,
		.point = prometheus_page_point,
		.ctx = p,
	};

	if (!m->job_has_it || !p->label_job)
		m->put(&put);
}

/* ---- jobs and processes ---------------------------------------------------------------------- */

/* Writes the labels of each process to p->labels once, because many samples of a page repeat
 * them. */
static void prometheus_page_rank_labels(struct page *p)
{
	for (size_t i = 0; i < p->owners.nranks; i++) {
		const struct owner_rank *o = &p->owners.ranks[i];

		buffer_add(&p->labels, "{", 1);
		metric_label(&p->labels, "job_id", o->job_id);
		if (o->rank->rank >= 0)
			metric_label_uint(&p->labels, "rank", (uint64_t)o->rank->rank);
		if (o->by_pid)
			metric_label_uint(&p->labels, "pid", o->rank->pid);
		p->label_end[i] = p->labels.len;
	}
}

int page_attach_order(const void *a, const void *b)
{
	const struct attach_view *x = *(const struct attach_view *const *)a;
	const struct attach_view *y = *(const struct attach_view *const *)b;
	int order = strncmp(x->id, y->id, sizeof(x->id));

	return order ? order : strncmp(x->at.library, y->at.library, sizeof(x->at.library));
}

int page_select(struct page *p)
{
	const struct snapshot *s = p->s;
	int err = owners_select(&p->owners, s, PROMETHEUS_JOBS, PROMETHEUS_RANKS);

	p->attach = calloc((size_t)s->nattach + 1, sizeof(const struct attach_view *));
	if (err || !p->attach)
		return -ENOMEM;
	prometheus_page_rank_labels(p);
	for (uint32_t i = 0; i < s->nattach; i++)
		p->attach[p->nattach++] = &s->attach[i];
	qsort(p->attach, p->nattach, sizeof(const struct attach_view *), page_attach_order);
	return p->labels.failed ? -ENOMEM : 0;
}

/* ---- jobs and processes without room --------------------------------------------------------- */

static void page_unshown(struct page *p, const struct metric_family *f, const char *cause,
			 size_t count)
{
	metric_label(page_sample(p, f->name, NULL), "cause", cause);
	page_value_uint(p, p->out, count);
}

void page_jobs_unshown(struct page *p, const struct metric_family *f)
{
	if (!p->s)
		return;
	page_unshown(p, f, "room", p->owners.jobs_no_room);
	page_unshown(p, f, "same_name", p->owners.jobs_same_name);
}

void page_ranks_unshown(struct page *p, const struct metric_family *f)
{
	if (!p->s)
		return;
	page_unshown(p, f, "room", p->owners.ranks_no_room + (size_t)p->s->unfollowed);
	page_unshown(p, f, "same_rank", p->owners.ranks_same_rank);
}
