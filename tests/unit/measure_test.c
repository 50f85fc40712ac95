/* SPDX-License-Identifier: Apache-2.0 */
/* All ways out send the same numbers under the same labels: one snapshot is written by each of
 * them, read back, and compared with the points of the table of measures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fixture.h"
#include "userspace/base/json_text.h"
#include "userspace/export/gcm/request.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/export/measure/owners.h"
#include "userspace/export/otlp/otlp_metric.h"
#include "userspace/export/prometheus/prometheus_text.h"

#define JOBS	    8
#define POINTS	    4096
#define KEY	    256
#define NS_PER_S    1e9
#define OWN_GOODPUT "job/goodput_time" /* in Cloud Monitoring a row of its own */

#define IDLE	   601 /* pid of a process that does not train */
#define IDLE_LABEL "pid=\"601\""
static struct fixture fx;
static struct job_view jobs[JOBS];

struct point {
	char key[KEY]; /* "job.state,job=llama,state=down" */
	double value;
};

struct list { /* points that a way out sends */
	struct point at[POINTS];
	size_t n;
};

static struct list wanted, got;

/* ---- the snapshot ---------------------------------------------------------------------------- */

static struct job_view *job(const char *name, enum job_state state)
{
	struct job_view *j = &jobs[fx.s.njobs++];

	j->key = fx.s.njobs;
	snprintf(j->name, sizeof(j->name), "%s", name);
	if (*name)
		snprintf(j->uid, sizeof(j->uid), "uid of %s", name);
	j->state = state;
	j->reported_here = true;
	j->first_pid = 70 + fx.s.njobs;
	j->runs = 1 + fx.s.njobs;
	j->run_ranks = 2;
	j->last_step = 1990 + fx.s.njobs;
	j->since_real_ns = 1795262400ll * (int64_t)S;
	j->wasted_gross_ns = 3 * S + fx.s.njobs;
	j->secured_ns = 60 * S + fx.s.njobs;
	j->ledger.start_ns = 1000 * S;
	j->ledger.now_ns = 1100 * S;
	j->ledger.ns[BUCKET_GOODPUT] = 70 * S + 1;
	j->ledger.ns[BUCKET_CUSTOM] = 5 * S;
	j->ledger.ns[BUCKET_OTHER] = 25 * S - 1;
	j->ledger.types[1] = (struct ledger_type){.name = 3, .ns = 4 * S};
	j->ledger.ntypes = 2;
	j->ledger.productive_gross_ns = 73 * S + 7;
	j->ledger.steps = 2000 + fx.s.njobs;
	return j;
}

static struct rank_view *rank(const struct job_view *j, uint32_t pid, int number)
{
	struct rank_view *r = fixture_trainer(&fx, pid, number, number < 0 ? -1 : 2);

	snprintf(r->job, sizeof(r->job), "%s", j->name);
	r->job_key = j->key;
	r->run = 1;
	r->observed_ns = 1010 * S;
	r->since_real_ns = 1795262410ll * (int64_t)S;
	r->ledger.ns[BUCKET_OTHER] += pid;
	r->overhead.sum.marker_ns = 4100000 + pid;
	r->loops[0].device_known = true;
	r->loops[0].host_ns = 7 * S + pid;
	for (int i = 0; i <= DEVIATION_BOUNDS; i++)
		r->loops[0].time.bucket[i] = 0;
	r->loops[0].time.bucket[6] = 1960;
	r->loops[0].time.bucket[9] = r->loops[0].time.count - 1960;
	return r;
}

/* A job with ranks, one of which hangs and one of which is waited for, and with two loops. */
static void make_busy_job(void)
{
	static struct loop_view two[2];
	struct job_view *j = job("a \"b\\c", JOB_RUNNING);
	struct rank_view *r = rank(j, 101, 0);

	j->ledger.disruptions = 9;
	j->unsettled = 1;
	j->causes[0].cause = CAUSE_oom;
	j->causes[0].count = 2;
	j->causes[1].cause = CAUSE_killed;
	j->causes[1].count = 3;
	j->ncauses = 2;
	two[0] = two[1] = r->loops[0];
	two[1].state.loop = 1;
	two[1].state.state = STATE_LEARNING;
	two[1].state.steps = 17;
	r->loops = two;
	r->nloops = 2;
	r->restores = 2;
	fixture_hang(r, GP_WHY_collective, false, "");
	r = rank(j, 102, 1);
	r->straggle.now = true;
	r->straggle.count = 1;
	r->cause_ns[TIME_CAUSE_cpu_contention] = 3000000000;
	r->cause_ns[TIME_CAUSE_unknown] = 1000000;
	r->long_steps = (struct long_steps_view){
		.count = 1, .lost_ns = 5000000, .ns = {[TIME_CAUSE_disk] = 5000000}};
	snprintf(r->straggle.phase, sizeof(r->straggle.phase), "data");
	r = rank(j, 90, 1); /* the process before it */
	r->alive = false;
	r->start_mono_ns = 900 * S;
	rank(j, 103, -1);
}

static int setup(void **state)
{
	struct job_view *j;
	struct rank_view *r;

	(void)state;
	fixture_init(&fx);
	memset(jobs, 0, sizeof(jobs));
	fx.s.jobs = jobs;
	snprintf(fx.s.types.name[3], sizeof(fx.s.types.name[3]), "EVAL_STEP");
	make_busy_job();
	rank(job("", JOB_DOWN), 201, -1)->loops[0].state.state = STATE_LEARNING;
	j = job("ended", JOB_ENDED);
	j->ledger.ended = true;
	r = rank(j, 301, 0);
	r->alive = false;
	r->loops[0].state.state = STATE_ENDED;
	job("bert", JOB_OVER); /* replaced by the next one of its name */
	j = job("bert", JOB_RUNNING);
	j->carried = true;
	j->carried_runs = 1;
	rank(j, 401, 0)->loops[0].state.unit = UNIT_EXECUTION;
	j = job("of another node", JOB_RUNNING);
	j->reported_here = false;
	rank(j, 501, 1);
	fixture_process(&fx, IDLE);
	return 0;
}

/* ---- lists of points ------------------------------------------------------------------------- */

static struct point *list_add(struct list *l, const char *id, double value)
{
	struct point *p = &l->at[l->n++];

	assert_true(l->n <= POINTS);
	snprintf(p->key, sizeof(p->key), "%s", id);
	p->value = value;
	return p;
}

static void point_label(struct point *p, const char *name, const char *value)
{
	size_t len = strlen(p->key);

	if (value && *value)
		snprintf(p->key + len, sizeof(p->key) - len, ",%s=%s", name, value);
	assert_true(strlen(p->key) < sizeof(p->key) - 1);
}

static void point_number(struct point *p, const char *name, long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", number);
	point_label(p, name, text);
}

/* Adds the parts of a distribution: its labels are those of the point added last. */
static void list_times(struct list *l, const char *part, long at, double value)
{
	const char *of = l->at[l->n - 1].key;
	int len = (int)(strstr(of, "!part=") ? strstr(of, "!part=") - of : (long)strlen(of));
	char key[KEY];

	snprintf(key, sizeof(key), "%.*s!part=%s %ld", len, of, part, at);
	list_add(l, key, value);
}

static int list_order(const void *x, const void *y)
{
	const struct point *a = x, *b = y;

	return strcmp(a->key, b->key);
}

/* Returns the number of points that are in one list alone, twice in one, or differ. */
static size_t list_differences(struct list *a, struct list *b, bool print)
{
	size_t i = 0, k = 0, differences = 0;

	qsort(a->at, a->n, sizeof(*a->at), list_order);
	qsort(b->at, b->n, sizeof(*b->at), list_order);
	while (i < a->n || k < b->n) {
		const struct point *x = i < a->n ? &a->at[i] : NULL,
				   *y = k < b->n ? &b->at[k] : NULL;
		int order = !x ? 1 : !y ? -1 : strcmp(x->key, y->key);

		i += order <= 0;
		k += order >= 0;
		if (!order && fabs(x->value - y->value) <= 1e-10 + 1e-9 * fabs(x->value))
			continue;
		differences++;
		if (print)
			print_error("%s: %s (%.12g, %.12g)\n",
				    order < 0	? "not sent"
				    : order > 0 ? "not measured"
						: "differs",
				    order > 0 ? y->key : x->key, x ? x->value : 0,
				    y ? y->value : 0);
	}
	return differences;
}

/* ---- the points of the table ----------------------------------------------------------------- */

enum way { WAY_PROMETHEUS, WAY_OTLP, WAY_GCM };

static double point_value(const struct measure *m, const struct measure_point *p)
{
	if (m->type == MEASURE_REAL)
		return p->real;
	if (m->type == MEASURE_TIMES)
		return (double)p->times->count;
	return m->type == MEASURE_NS ? (double)p->count / NS_PER_S : (double)p->count;
}

static bool job_is_shown(const struct job_view *j)
{
	return j && j->reported_here;
}

/* Returns true if a way out has the point. These are all its differences from the others. */
static bool way_has(enum way way, const struct measure_put *m, const struct measure_point *p)
{
	const struct measure *of = m->measure;

	if (way == WAY_GCM)
		return of->gcm && m->job;
	if (of->rule == MEASURE_LABEL_SPARSE && !p->count)
		return false;
	if (way == WAY_OTLP)
		return true;
	return of->prometheus && !(of->job_has_it && job_is_shown(m->job));
}

static void want_point(void *ctx, const struct measure_put *m, const struct measure_point *p)
{
	enum way way = *(const enum way *)ctx;
	char room[EXPORT_JOB_ROOM];
	struct point *w;

	if (!way_has(way, m, p))
		return;
	w = list_add(&wanted, m->measure->id, point_value(m->measure, p));
	point_label(w, "job", m->job ? export_job_name(m->job, room) : m->rank->job);
	if (m->rank && m->rank->rank >= 0)
		point_number(w, "rank", m->rank->rank);
	else if (m->rank)
		point_number(w, "pid", (long)m->rank->pid);
	if (m->loop && m->loop->state.loop)
		point_number(w, "loop", (long)m->loop->state.loop);
	if (p->label && (way != WAY_GCM || m->measure->rule != MEASURE_LABEL_CHANGES))
		point_label(w, m->measure->label, p->label);
	if (m->measure->type != MEASURE_TIMES)
		return;
	list_times(&wanted, "sum", 0, (double)p->times->sum_ns / NS_PER_S);
	for (int i = 0; i <= DEVIATION_BOUNDS; i++)
		list_times(&wanted, "count", i, (double)p->times->bucket[i]);
	for (int i = 0; i < DEVIATION_BOUNDS; i++)
		list_times(&wanted, "bound", i, (double)deviation_bound_ns[i] / NS_PER_S);
}

static void want(enum way way)
{
	const struct measure *m;
	struct owners owners;

	wanted.n = 0;
	assert_int_equal(owners_select(&owners, &fx.s, fx.s.njobs, fx.s.nranks), 0);
	for (size_t i = 0; (m = measure_at(i)); i++)
		owners_points(&owners, m, 0, owners.nranks, want_point, &way);
	owners_free(&owners);
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

/* Reads name="value" after "{" or ",", without its escapes. Returns what follows. */
static const char *page_label(const char *at, char name[KEY], char value[KEY])
{
	const char *equals = strchr(at, '=');
	size_t n = 0;

	snprintf(name, KEY, "%.*s", (int)(equals - at), at);
	for (at = equals + 2; *at != '"'; at++) {
		if (*at == '\\')
			at++;
		value[n++] = *at;
		assert_true(n < KEY);
	}
	value[n] = '\0';
	return at + 1;
}

/* A process that has no job and does not train: only the page has points of it. */
static int idle_points;

static void page_line(const char *line)
{
	char name[KEY], value[KEY];
	const struct measure *m;
	struct point *p;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "{ "), line);
	m = measure_of_prometheus(name);
	if (!m)
		return;
	line += strlen(name);
	p = list_add(&got, m->id, 0);
	while (*line == '{' || *line == ',') {
		line = page_label(line + 1, name, value);
		point_label(p, !strcmp(name, "job_id") ? "job" : name, value);
	}
	p->value = strtod(line + 1, NULL);
}

static void get_prometheus(void)
{
	struct buffer page = {0};

	idle_points = 0;
	prometheus_text(&page, &fx.s, PROMETHEUS_TEXT);
	assert_false(page.failed);
	for (char *at = page.data, *end; at && *at; at = end) {
		end = strchr(at, '\n');
		if (end)
			*end++ = '\0';
		if (*at == '#')
			continue;
		if (strstr(at, IDLE_LABEL))
			idle_points++;
		else
			page_line(at);
	}
	assert_true(idle_points);
	buffer_free(&page);
}

/* ---- JSON of OpenTelemetry and Cloud Monitoring ---------------------------------------------- */

static const cJSON *member(const cJSON *of, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(of, name);
}

/* A number, a boolean, or a 64-bit integer as a string. */
static double number(const cJSON *of)
{
	assert_non_null(of);
	return cJSON_IsString(of) ? strtod(of->valuestring, NULL)
	       : cJSON_IsBool(of) ? cJSON_IsTrue(of)
				  : of->valuedouble;
}

/* Text of an attribute of OpenTelemetry; NULL: absent. */
static const char *attribute(const cJSON *point, const char *key)
{
	const cJSON *a, *value;

	cJSON_ArrayForEach(a, member(point, "attributes"))
	{
		if (strcmp(member(a, "key")->valuestring, key) != 0)
			continue;
		value = member(a, "value");
		return (member(value, "stringValue") ? member(value, "stringValue")
						     : member(value, "intValue"))
			->valuestring;
	}
	return NULL;
}

static void get_parts(const cJSON *counts, const cJSON *bounds, double sum, double bound_offset)
{
	const cJSON *one;
	long i = 0;

	list_times(&got, "sum", 0, sum);
	cJSON_ArrayForEach(one, counts) list_times(&got, "count", i++, number(one));
	i = 0;
	cJSON_ArrayForEach(one, bounds) list_times(&got, "bound", i++, number(one) - bound_offset);
}

/* Attributes that OpenTelemetry has besides the labels: they are part of every point. */
static void otlp_also(const cJSON *point, const struct measure *m)
{
	const char *of = attribute(point, "gpbpf.job");
	char uid[KEY];

	if (m->owner != MEASURE_JOB)
		assert_non_null(attribute(point, "process.pid"));
	if (!of || !strncmp(of, "pid-", 4))
		return;
	snprintf(uid, sizeof(uid), "uid of %s", of);
	assert_string_equal(attribute(point, "gpbpf.job.uid"), uid);
}

static void otlp_point(const cJSON *point, const struct measure *m)
{
	const char *of_rank = attribute(point, "gpbpf.rank");
	struct point *p = list_add(&got, m->id, 0);
	char name[KEY];

	otlp_also(point, m);
	point_label(p, "job", attribute(point, "gpbpf.job"));
	point_label(p, "rank", of_rank);
	if (!of_rank)
		point_label(p, "pid", attribute(point, "process.pid"));
	point_label(p, "loop", attribute(point, "gpbpf.loop"));
	snprintf(name, sizeof(name), "gpbpf.%s", m->label ? m->label : "");
	if (m->label)
		point_label(p, m->label, attribute(point, name));
	p->value = number(member(point, m->type == MEASURE_TIMES ? "count"
					: member(point, "asInt") ? "asInt"
								 : "asDouble"));
	if (m->type == MEASURE_TIMES)
		get_parts(member(point, "bucketCounts"), member(point, "explicitBounds"),
			  number(member(point, "sum")), 0);
}

static void get_otlp(void)
{
	struct buffer text = {0};
	const cJSON *metric, *point, *data;
	const struct measure *m;
	uint32_t at = 0;
	cJSON *all;

	json_open(&text, NULL, '[');
	otlp_metrics(&text, &fx.s, &at);
	json_close(&text, ']');
	assert_int_equal(at, 0);
	all = cJSON_Parse(text.data);
	assert_non_null(all);
	cJSON_ArrayForEach(metric, all)
	{
		const char *name = member(metric, "name")->valuestring;

		for (size_t i = 0; (m = measure_at(i)) && strcmp(m->id, name + 6) != 0; i++)
			;
		if (!m)
			fail_msg("no measure: %s", name);
		data = member(metric, m->type == MEASURE_TIMES ? "histogram"
				      : m->counter	       ? "sum"
							       : "gauge");
		assert_non_null(data);
		cJSON_ArrayForEach(point, member(data, "dataPoints")) otlp_point(point, m);
	}
	cJSON_Delete(all);
	buffer_free(&text);
}

static const struct measure *gcm_measure(const char *name)
{
	const struct measure *m = NULL;

	if (!strcmp(name, OWN_GOODPUT))
		name = "job/badput_time";
	for (size_t i = 0; (m = measure_at(i)); i++)
		if (m->gcm && !strcmp(m->gcm, name))
			return m;
	fail_msg("no measure: %s", name);
	return NULL;
}

static void gcm_point(const cJSON *series)
{
	const cJSON *metric = member(series, "metric"), *l,
		    *value = member(cJSON_GetArrayItem(member(series, "points"), 0), "value");
	const char *name = member(metric, "type")->valuestring + strlen(SERIES_OWN_PREFIX);
	const struct measure *m = gcm_measure(name);
	struct point *p = list_add(&got, m->id, 0);

	cJSON_ArrayForEach(l, member(metric, "labels"))
		point_label(p, !strcmp(l->string, "job_id") ? "job" : l->string, l->valuestring);
	if (!strcmp(name, OWN_GOODPUT))
		point_label(p, "bucket", bucket_name[BUCKET_GOODPUT]);
	value = value->child;
	if (m->type != MEASURE_TIMES) {
		p->value = number(value);
		return;
	}
	p->value = number(member(value, "count"));
	/* Its bounds are exclusive, so they are a nanosecond later. */
	get_parts(member(value, "bucketCounts"),
		  member(member(member(value, "bucketOptions"), "explicitBuckets"), "bounds"),
		  p->value * number(member(value, "mean")), 1 / NS_PER_S);
}

static void get_gcm(void)
{
	const struct gcm_identity id = {.location = "us-central1-a", .instance_id = "42"};
	struct buffer body = {0};
	struct series_set set;
	const cJSON *one;
	uint32_t at = 0, n;
	cJSON *request;

	series_set_init(&set);
	gcm_own(&set, &fx.s, &id);
	assert_int_equal(set.unkept, 0);
	while (request_next(&set, SERIES_OWN_PREFIX, NULL, &at, &body, NULL, &n)) {
		request = cJSON_Parse(body.data);
		assert_non_null(request);
		cJSON_ArrayForEach(one, member(request, "timeSeries")) gcm_point(one);
		cJSON_Delete(request);
		buffer_clear(&body);
	}
	assert_false(body.failed);
	series_set_free(&set);
	buffer_free(&body);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void ways(enum way way)
{
	static void (*const get[])(void) = {get_prometheus, get_otlp, get_gcm};

	want(way);
	got.n = 0;
	get[way]();
	assert_true(wanted.n > 50);
	if (list_differences(&wanted, &got, true))
		fail_msg("this way out sends something else than is measured");
}

static void prometheus_sends_what_is_measured(void **state)
{
	(void)state;
	ways(WAY_PROMETHEUS);
}

static void otlp_sends_what_is_measured(void **state)
{
	(void)state;
	ways(WAY_OTLP);
}

static void cloud_monitoring_sends_what_is_measured(void **state)
{
	(void)state;
	ways(WAY_GCM);
}

/* The snapshot has a point of each measure, and of each label that a measure may have. */
static void the_snapshot_has_all_measures(void **state)
{
	const struct measure *m;

	(void)state;
	want(WAY_OTLP);
	for (size_t i = 0; (m = measure_at(i)); i++) {
		size_t len = strlen(m->id), points = 0, labelled = 0;
		char name[KEY];

		snprintf(name, sizeof(name), ",%s=", m->label ? m->label : "job");
		for (size_t k = 0; k < wanted.n; k++) {
			bool of = !strncmp(wanted.at[k].key, m->id, len) &&
				  wanted.at[k].key[len] == ',';

			points += of && wanted.at[k].value > 0;
			labelled += of && strstr(wanted.at[k].key, name);
		}
		if (!points || !labelled)
			fail_msg("no point of %s", m->id);
	}
	assert_non_null(strstr(wanted.at[0].key, "job=a \"b\\c"));
}

/* Whichever point or label is lost, the comparison finds it. */
static void a_lost_point_or_label_is_found(void **state)
{
	static struct list whole;

	(void)state;
	for (int way = WAY_PROMETHEUS; way <= WAY_GCM; way++) {
		ways((enum way)way);
		whole = got;
		for (size_t i = 0; i < whole.n; i++) {
			char *label;

			got.at[i] = got.at[--got.n];
			assert_int_equal(list_differences(&wanted, &got, false), 1);
			got = whole;
			label = strrchr(got.at[i].key, ',');
			assert_non_null(label);
			*label = '\0';
			assert_true(list_differences(&wanted, &got, false) >= 1);
			got = whole;
			got.at[i].value += 1e-6;
			assert_int_equal(list_differences(&wanted, &got, false),
					 fabs(whole.at[i].value) < 900);
			got = whole;
		}
	}
}

/* Names in each way out are of one measure. */
static void names_are_unique(void **state)
{
	const struct measure *m, *x;

	(void)state;
	for (size_t i = 0; (m = measure_at(i)); i++) {
		assert_true(m->put && m->help && m->unit && (!m->gcm || m->title));
		assert_true(!m->label == !m->label_help);
		for (size_t k = 0; k < i && (x = measure_at(k)); k++) {
			assert_string_not_equal(m->id, x->id);
			if (m->prometheus && x->prometheus)
				assert_string_not_equal(m->prometheus, x->prometheus);
			if (m->gcm && x->gcm)
				assert_string_not_equal(m->gcm, x->gcm);
		}
	}
}

/* The list of metrics (gp-bpf schema --metrics), from which the manual is made and dashboards and
 * rules are checked, has each measure of a page once. */
static void the_list_of_metrics_has_each_measure(void **state)
{
	struct buffer list = {.data = NULL};
	const struct measure *m;
	char start[KEY], end[1024];

	(void)state;
	buffer_printf(&list, "\n");
	prometheus_metrics(&list);
	assert_false(list.failed);
	for (size_t i = 0; (m = measure_at(i)); i++) {
		const char *line;

		if (!m->prometheus)
			continue;
		snprintf(start, sizeof(start), "\n%s\t%s\t", m->prometheus,
			 m->counter ? "counter" : "gauge");
		snprintf(end, sizeof(end), "%s%s\t%s\n", m->label ? ", " : "",
			 m->label ? m->label : "", m->help);
		line = strstr(list.data, start);
		if (!line || strstr(line + 1, start) || !strstr(line, end))
			fail_msg("not in the list once: %s", m->prometheus);
	}
	buffer_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(prometheus_sends_what_is_measured, setup),
		cmocka_unit_test_setup(otlp_sends_what_is_measured, setup),
		cmocka_unit_test_setup(cloud_monitoring_sends_what_is_measured, setup),
		cmocka_unit_test_setup(the_snapshot_has_all_measures, setup),
		cmocka_unit_test_setup(a_lost_point_or_label_is_found, setup),
		cmocka_unit_test(names_are_unique),
		cmocka_unit_test(the_list_of_metrics_has_each_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
