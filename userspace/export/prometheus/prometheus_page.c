/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_page.c - selects the jobs and processes that have series on a page, and writes
 * samples. */
#include "userspace/export/job_name.h"
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

/* A page has tens of thousands of numbers; printf would be most of its cost. A number is written to
 * a text of METRIC_NUMBER bytes, from its end. Returns its beginning. */
#define METRIC_NUMBER 40

static char *prometheus_page_number_digits(char *at, uint64_t value, int least)
{
	for (; value || least > 0; least--) {
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

/* units of 10^-decimals; drops trailing zeros, but keeps `least` decimals. */
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

/* Returns the number of bytes that are copied unchanged and are not part of a longer character. */
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

/* as seconds, exact */
static void metric_value_ns(struct buffer *out, uint64_t ns)
{
	prometheus_page_value_fixed(out, ns, 9);
}

/* Writes numbers exactly if enough decimals are available; others with printf. */
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

/* OpenMetrics names the family without the ending of its samples' names. */
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

/* UTC; 0: unknown or not plausible. */
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

/* To the second, so that small adjustments of the wall clock do not change it. */
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

/* Identified by its number only, so that no series changes when another loop appears. */
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

bool page_loop_known(const struct loop_view *l)
{
	return l->state.unit == UNIT_STEP && l->state.confidence >= PROMETHEUS_CONFIDENCE &&
	       l->time.count;
}

/* ---- owners of series: each name once, and no more than there is room for -------------------- */

static bool page_is_old(const struct page *p, uint64_t end_ns)
{
	return p->s->mono_ns > end_ns && p->s->mono_ns - end_ns > PROMETHEUS_GRACE_NS;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool prometheus_page_job_over(const struct job_view *j)
{
	return j->state == JOB_OVER || j->state == JOB_ENDED;
}

/* Two jobs can have one name (one ended long ago): the one that runs has the series, else the newer
 * one. */
static bool prometheus_page_job_replaced(const struct snapshot *s, uint32_t at)
{
	const struct job_view *own = &s->jobs[at];

	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct job_view *j = &s->jobs[i];

		if (i == at || !export_job_same(j, own))
			continue;
		if (prometheus_page_job_over(j) != prometheus_page_job_over(own)
			    ? prometheus_page_job_over(own)
			    : i > at)
			return true;
	}
	return false;
}

static void prometheus_page_take_jobs(struct page *p, bool over)
{
	for (uint32_t i = 0; i < p->s->njobs; i++) {
		const struct job_view *j = &p->s->jobs[i];

		if (prometheus_page_job_over(j) != over ||
		    (over && page_is_old(p, j->ledger.now_ns)))
			continue;
		if (prometheus_page_job_replaced(p->s, i))
			p->jobs_same_name += !over;
		else if (p->njobs == PROMETHEUS_JOBS)
			p->jobs_no_room++;
		else
			p->jobs[p->njobs++] = j;
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

struct one { /* a process that may have series */
	const struct rank_view *r;
	uint32_t at;	  /* index in the snapshot */
	uint32_t job;	  /* index in the snapshot; njobs: none */
	const char *name; /* job_id */
	bool by_pid;
	bool kept;
};

static uint32_t prometheus_page_select_job_of(const struct snapshot *s, uint64_t key)
{
	uint32_t i = key ? 0 : s->njobs;

	while (i < s->njobs && s->jobs[i].key != key)
		i++;
	return i;
}

static int prometheus_page_same_series(const struct one *a, const struct one *b)
{
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	if (a->by_pid != b->by_pid)
		return a->by_pid ? 1 : -1;
	if (!a->by_pid && a->r->rank != b->r->rank)
		return a->r->rank < b->r->rank ? -1 : 1;
	return a->by_pid && a->r->pid != b->r->pid ? a->r->pid < b->r->pid ? -1 : 1 : 0;
}

/* Orders processes by series. If several have the same series, the one that gets it comes first:
 * alive, then trainer, then newest. */
static int prometheus_page_series_order(const void *x, const void *y)
{
	const struct one *a = x, *b = y;
	int order = prometheus_page_same_series(a, b);

	if (order)
		return order;
	if (a->r->alive != b->r->alive)
		return a->r->alive ? -1 : 1;
	if (a->r->trainer != b->r->trainer)
		return a->r->trainer ? -1 : 1;
	if (a->r->start_mono_ns != b->r->start_mono_ns)
		return a->r->start_mono_ns > b->r->start_mono_ns ? -1 : 1;
	return a->at < b->at ? -1 : 1;
}

static int prometheus_page_snapshot_order(const void *x, const void *y)
{
	const struct one *a = x, *b = y;

	if (a->r->alive != b->r->alive)
		return a->r->alive ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void prometheus_page_rank_labels(struct page *p, const struct one *o)
{
	buffer_add(&p->labels, "{", 1);
	metric_label(&p->labels, "job_id", o->name);
	if (o->r->rank >= 0)
		metric_label_uint(&p->labels, "rank", (uint64_t)o->r->rank);
	if (o->by_pid)
		metric_label_uint(&p->labels, "pid", o->r->pid);
	p->label_end[p->nranks] = p->labels.len;
	p->by_pid[p->nranks] = o->by_pid;
	for (size_t i = 0; i < p->njobs && o->job < p->s->njobs; i++)
		p->of_job[p->nranks] |= p->jobs[i] == &p->s->jobs[o->job] &&
					p->jobs[i]->reported_here;
	p->ranks[p->nranks++] = o->r;
}

/* Takes the first trainer of the last run of each job, also when it has ended and others continue:
 * if another rank took over, its counts, which are about as high, would look like an increase. */
static void prometheus_page_take_first(struct page *p)
{
	for (uint32_t i = 0; i < p->s->nranks; i++) {
		const struct rank_view *r = &p->s->ranks[i];
		uint32_t job = r->trainer ? prometheus_page_select_job_of(p->s, r->job_key)
					  : p->s->njobs;

		for (size_t k = 0; job < p->s->njobs && k < p->njobs; k++)
			if (p->jobs[k] == &p->s->jobs[job] &&
			    (!p->first[k] || r->run > p->first[k]->run))
				p->first[k] = r;
	}
}

/* Collects processes that may have series: ended ones only until the next run of their job
 * begins. */
static uint32_t page_candidates(struct page *p, struct one *all, uint32_t *newest,
				char (*room)[EXPORT_JOB_ROOM])
{
	const struct snapshot *s = p->s;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++) {
		uint32_t job = prometheus_page_select_job_of(s, s->ranks[i].job_key);

		if (newest[job] < s->ranks[i].run)
			newest[job] = s->ranks[i].run;
	}
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		uint32_t job = prometheus_page_select_job_of(s, r->job_key);

		/* of node-wide observation: a server, or an idle process */
		if (s->node.on && !r->trainer)
			continue;
		if (!r->alive &&
		    (page_is_old(p, r->ledger.now_ns) || (job < s->njobs && r->run < newest[job])))
			continue;
		all[n] = (struct one){.r = r, .at = i, .job = job, .name = r->job};
		if (job < s->njobs)
			all[n].name = export_job_name(&s->jobs[job], room[job]);
		all[n].by_pid = r->rank < 0 || !*all[n].name;
		n++;
	}
	return n;
}

static void prometheus_page_take_ranks(struct page *p, struct one *all, uint32_t n)
{
	qsort(all, n, sizeof(*all), prometheus_page_series_order);
	for (uint32_t i = 0; i < n; i++) {
		all[i].kept = !i || prometheus_page_same_series(&all[i - 1], &all[i]);
		p->ranks_same_rank += !all[i].kept && all[i].r->alive;
	}
	qsort(all, n, sizeof(*all), prometheus_page_snapshot_order);
	for (uint32_t i = 0; i < n && !p->labels.failed; i++) {
		if (all[i].kept && p->nranks == PROMETHEUS_RANKS)
			p->ranks_no_room++;
		else if (all[i].kept)
			prometheus_page_rank_labels(p, &all[i]);
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
	struct one *all = calloc((size_t)s->nranks + 1, sizeof(*all));
	uint32_t *newest = calloc((size_t)s->njobs + 1, sizeof(*newest));
	char(*room)[EXPORT_JOB_ROOM] = calloc((size_t)s->njobs + 1, EXPORT_JOB_ROOM);
	bool ok;

	p->attach = calloc((size_t)s->nattach + 1, sizeof(const struct attach_view *));
	ok = all && newest && room && p->attach;
	if (ok) {
		prometheus_page_take_jobs(p, false);
		prometheus_page_take_jobs(p, true);
		prometheus_page_take_ranks(p, all, page_candidates(p, all, newest, room));
		prometheus_page_take_first(p);
		for (uint32_t i = 0; i < s->nattach; i++)
			p->attach[p->nattach++] = &s->attach[i];
		qsort(p->attach, p->nattach, sizeof(const struct attach_view *), page_attach_order);
	}
	free(all);
	free(newest);
	free(room);
	return ok && !p->labels.failed ? 0 : -ENOMEM;
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
	page_unshown(p, f, "room", p->jobs_no_room);
	page_unshown(p, f, "same_name", p->jobs_same_name);
}

void page_ranks_unshown(struct page *p, const struct metric_family *f)
{
	if (!p->s)
		return;
	page_unshown(p, f, "room", p->ranks_no_room + (size_t)p->s->unfollowed);
	page_unshown(p, f, "same_rank", p->ranks_same_rank);
}
