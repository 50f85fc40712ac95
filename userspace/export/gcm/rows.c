/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/gcm/rows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/log/deviation_batch.h"
#include "userspace/base/table.h"
#include "userspace/export/measure/owners.h"
#include "userspace/ingest/goodput_names.h"
#include "userspace/model/job/fact.h"

#define ROWS_NS_PER_S  1e9
#define ROLLING_MOST_S 999999999 /* 31 years */
#define ROWS_MAX       64

int gcm_rolling_read(const char *text, struct gcm_options *o)
{
	int64_t s[GCM_ROLLING_MAX] = {0};
	int n = 0;
	char *end;

	do {
		if (n == GCM_ROLLING_MAX || !isdigit((unsigned char)*text))
			return -EINVAL;
		errno = 0;
		s[n] = strtoll(text, &end, 10);
		if (errno || s[n] < 1 || s[n] > ROLLING_MOST_S || (*end && *end != ','))
			return -EINVAL;
		for (int i = 0; i < n; i++) {
			if (s[i] == s[n])
				return -EINVAL;
		}
		n++;
		text = end + 1;
	} while (*end);
	memcpy(o->rolling_s, s, sizeof(s));
	return 0;
}

bool gcm_project_valid(const char *id)
{
	size_t len = strlen(id);

	/* The project ids of a domain contain dots and a colon: "example.com:demo". */
	return len > 0 && len < sizeof(((struct gcm_identity *)NULL)->project) &&
	       isalnum((unsigned char)*id) &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == len;
}

/* ---- our own series: the measures (measure.h) ------------------------------------------------ */

/* gcm_row() returns one row for each measure that is sent, in the order of the table of measures;
 * then the row of goodput, which is not a bucket of badput. */
static struct series_row own_rows[ROWS_MAX];
static size_t own_count;
static const struct series_row goodput_row = {
	.name = "job/goodput_time",
	.kind = SERIES_GAUGE,
	.value = SERIES_DOUBLE,
	.unit = "s",
	.title = "Goodput",
	.help = "Time that became training progress which counts; decreases when a restart disproves progress; job/goodput_time and job/badput_time add up to job/elapsed_time.",
	.label = {{"job_id",
		   "Name of the job; without a name, pid- and the pid of its first process.",
		   false}},
};

static void rows_make_row(struct series_row *row, const struct measure *m)
{
	static const enum series_value value[] = {[MEASURE_COUNT] = SERIES_INT64,
						  [MEASURE_NS] = SERIES_DOUBLE,
						  [MEASURE_REAL] = SERIES_DOUBLE,
						  [MEASURE_YES] = SERIES_BOOL,
						  [MEASURE_TIMES] = SERIES_DISTRIBUTION};
	struct series_label_row *label = row->label;

	row->name = m->gcm;
	row->kind = m->counter ? SERIES_CUMULATIVE : SERIES_GAUGE;
	row->value = value[m->type];
	row->unit = m->type == MEASURE_YES ? "" : m->unit;
	row->title = m->title;
	row->help = m->help;
	*label++ = goodput_row.label[0];
	if (m->owner != MEASURE_JOB) {
		*label++ = (struct series_label_row){
			"rank", "Rank of the process in its job; absent if unknown.", true};
		*label++ = (struct series_label_row){"pid", "Process id, if the rank is unknown.",
						     true};
	}
	if (m->owner == MEASURE_LOOP)
		*label++ = (struct series_label_row){
			"loop",
			"Training loop of the process; absent for the first (most processes have one).",
			true};
	if (m->label && m->rule != MEASURE_LABEL_CHANGES)
		*label = (struct series_label_row){m->label, m->label_help, false};
}

static void rows_make(void)
{
	const struct measure *m;

	for (size_t i = 0; (m = measure_at(i)) && own_count < ROWS_MAX; i++)
		if (m->gcm)
			rows_make_row(&own_rows[own_count++], m);
}

const struct series_row *gcm_row(size_t i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, rows_make);
	return i < own_count ? &own_rows[i] : i == own_count ? &goodput_row : NULL;
}

struct own { /* state while gp-bpf's own series are added to a set */
	struct series_set *set;
	const struct snapshot *s;
	uint32_t resource;
	const struct series_row *row; /* row of the measure that is being written */
};

static int64_t rows_own_real(const struct own *o, uint64_t mono_ns)
{
	return o->s->real_ns - (int64_t)(o->s->mono_ns - mono_ns);
}

/* ---- resource -------------------------------------------------------------------------------- */

static uint32_t rows_own_resource(struct series_set *set, const struct gcm_identity *id)
{
	static const char *const node[] = {"location", "cluster_name", "node_name", NULL};
	static const char *const instance[] = {"instance_id", "zone", NULL};
	static const char *const generic[] = {"location", "namespace", "node_id", NULL};
	const char *location = id->location, *dash = strchr(location, '-');
	bool zone = dash && strchr(dash + 1, '-'); /* like "us-east1-b" */

	if (*location && *id->cluster && *id->node)
		return series_resource(set, "k8s_node", node,
				       (const char *const[]){location, id->cluster, id->node});
	if (zone && *id->instance_id)
		return series_resource(set, "gce_instance", instance,
				       (const char *const[]){id->instance_id, location});
	return series_resource(set, "generic_node", generic,
			       (const char *const[]){*location ? location : "global", "gp-bpf",
						     *id->node ? id->node : "unknown"});
}

/* ---- points ---------------------------------------------------------------------------------- */

/* The model counts a time equal to a bound in the bucket below it, the service in the bucket above
 * it. Adding a nanosecond to the bounds makes the counts exact, as times are whole nanoseconds. */
static void rows_step_time(struct own *o, const struct deviation_view *t)
{
	double bounds[DEVIATION_BOUNDS];
	struct series_distribution d = {
		.count = t->count,
		.mean = t->mean_ns / ROWS_NS_PER_S,
		.bounds = bounds,
		.buckets = t->bucket,
		.nbounds = DEVIATION_BOUNDS,
	};

	for (int i = 0; i < DEVIATION_BOUNDS; i++)
		bounds[i] = (double)(deviation_bound_ns[i] + 1) / ROWS_NS_PER_S;
	series_distribution(o->set, &d);
}

static void rows_own_number(struct own *o, const char *name, uint32_t number)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", number);
	series_label(o->set, name, text);
}

static void rows_own_labels(struct own *o, const struct measure_put *m, const char *label)
{
	char room[EXPORT_JOB_ROOM];

	series_label(o->set, "job_id", export_job_name(m->job, room));
	if (m->rank && m->rank->rank >= 0)
		rows_own_number(o, "rank", (uint32_t)m->rank->rank);
	else if (m->rank)
		rows_own_number(o, "pid", m->rank->pid);
	if (m->loop && m->loop->state.loop)
		rows_own_number(o, "loop", m->loop->state.loop);
	if (label && m->measure->rule != MEASURE_LABEL_CHANGES)
		series_label(o->set, m->measure->label, label);
}

static int64_t rows_own_start(const struct own *o, const struct measure_put *m)
{
	int64_t real_ns = m->rank ? m->rank->since_real_ns : m->job->since_real_ns;
	uint64_t mono_ns = m->rank ? m->rank->observed_ns : m->job->ledger.start_ns;

	return real_ns > 0 ? real_ns : rows_own_real(o, mono_ns);
}

static void rows_own_point(void *ctx, const struct measure_put *m, const struct measure_point *p)
{
	bool goodput = p->label && !strcmp(m->measure->gcm, "job/badput_time") &&
		       !strcmp(p->label, bucket_name[BUCKET_GOODPUT]);
	struct own *o = ctx;
	const struct series_row *row = goodput ? &goodput_row : o->row;
	struct series *s = m->job ? series_put(o->set, row, o->resource, o->s->real_ns) : NULL;

	if (!s)
		return;
	if (row->kind == SERIES_CUMULATIVE)
		s->start_ns = rows_own_start(o, m);
	if (m->measure->type == MEASURE_COUNT)
		s->value.i64 = (int64_t)p->count;
	else if (m->measure->type == MEASURE_NS)
		s->value.real = (double)p->count / ROWS_NS_PER_S;
	else if (m->measure->type == MEASURE_REAL)
		s->value.real = p->real;
	else if (m->measure->type == MEASURE_YES)
		s->value.yes = p->count;
	rows_own_labels(o, m, goodput ? NULL : p->label);
	if (m->measure->type == MEASURE_TIMES)
		rows_step_time(o, p->times);
}

void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id)
{
	struct own o = {.set = out, .s = s};
	const struct measure *m;
	struct owners owners;
	size_t row = 0;

	if (!s->real_ns)
		return;
	o.resource = rows_own_resource(out, id);
	if (owners_select(&owners, s, s->njobs, s->nranks))
		out->unkept += s->njobs + s->nranks;
	for (size_t i = 0; (m = measure_at(i)); i++) {
		if (!m->gcm)
			continue;
		o.row = gcm_row(row++);
		owners_points(&owners, m, 0, owners.nranks, rows_own_point, &o);
	}
	owners_free(&owners);
}

/* ---- series of the goodput library ----------------------------------------------------------- */

/* Metrics of ml-goodput-measurement 0.2.3 (src/gcp_metrics.py, src/monitoring.py): types, labels
 * and the case of label values are those of the library. Its metric "performance" is the ideal step
 * time. */

/* The label value for "all time" differs between the library's metrics. */
#define CUMULATIVE_LOWER "cumulative" /* for disruptions and elapsed time */
#define CUMULATIVE_UPPER "CUMULATIVE" /* for slice efficiency */
/* Buckets never sent as badput sources. Custom events are sent under their type instead, hangs as
 * OTHER; the service has no source for unobserved time. */
#define NEVER_SENT                                                                                 \
	((1u << BADPUT_LOAD_ASYNC) | (1u << BADPUT_CUSTOM) | (1u << BADPUT_HANG) |                 \
	 (1u << BADPUT_UNOBSERVED))
/* step_time_deviation covers the last 100 steps; after 1,100 steps the library computes it
 * differently (see rows_live_deviation()). */
#define DEVIATION_STEPS 100
#define DEVIATION_LONG	1100

#define ACCELERATOR                                                                                \
	{                                                                                          \
		"accelerator_type", "", false                                                      \
	}
#define CLUSTER                                                                                    \
	{                                                                                          \
		"cluster_name", "", false                                                          \
	}
#define GOODPUT                                                                                    \
	{                                                                                          \
		"goodput_source", "", false                                                        \
	}
#define BADPUT                                                                                     \
	{                                                                                          \
		"badput_source", "", false                                                         \
	}
#define WINDOW                                                                                     \
	{                                                                                          \
		"window_type", "", false                                                           \
	}
#define ROLLING                                                                                    \
	{                                                                                          \
		"rolling_window_size", "", true                                                    \
	}
#define ROW(id, name, value, unit, ...)                                                            \
	static const struct series_row id = {name, SERIES_GAUGE, value,		unit,              \
					     "",   "",		 {__VA_ARGS__}, true}

ROW(goodput_time, "goodput_time", SERIES_DOUBLE, "s", ACCELERATOR, CLUSTER, GOODPUT);
ROW(badput_time, "badput_time", SERIES_DOUBLE, "s", ACCELERATOR, CLUSTER, BADPUT);
ROW(total_elapsed_time, "total_elapsed_time", SERIES_DOUBLE, "s", ACCELERATOR, CLUSTER, WINDOW);
ROW(disruptions, "disruptions", SERIES_INT64, "1", ACCELERATOR, CLUSTER, WINDOW);
ROW(max_productive_steps, "max_productive_steps", SERIES_INT64, "1", ACCELERATOR, CLUSTER);
ROW(step_time_deviation, "step_time_deviation", SERIES_DOUBLE, "s", ACCELERATOR, CLUSTER);
ROW(performance, "performance", SERIES_DOUBLE, "s", {0});
ROW(interval_goodput, "interval_goodput", SERIES_DOUBLE, "%", ACCELERATOR, CLUSTER, GOODPUT,
    ROLLING);
ROW(interval_badput, "interval_badput", SERIES_DOUBLE, "%", ACCELERATOR, CLUSTER, BADPUT, ROLLING);
ROW(stepping_efficiency, "stepping_slice_efficiency", SERIES_DOUBLE, "1", ACCELERATOR, CLUSTER,
    WINDOW, ROLLING);
ROW(available_efficiency, "available_slice_efficiency", SERIES_DOUBLE, "1", ACCELERATOR, CLUSTER,
    WINDOW, ROLLING);

struct library { /* state while the series of one job are added to a set */
	struct series_set *set;
	const struct gcm_identity *id;
	uint32_t resource;
	int64_t end_ns;
};

static bool rows_library_begin(struct library *l, struct series_set *set,
			       const struct gcm_identity *id, const char *job, int64_t end_ns)
{
	static const char *const names[] = {"location", "workload_id", "replica_id", NULL};

	if (!*id->location || !*job || end_ns <= 0)
		return false;
	*l = (struct library){.set = set, .id = id, .end_ns = end_ns};
	l->resource = series_resource(
		set, "compute.googleapis.com/Workload", names,
		(const char *const[]){id->location, job, *id->replica ? id->replica : "0"});
	return l->resource != UINT32_MAX;
}

/* Adds a series with the labels that all the library's series except performance have. Returns NULL
 * if the set did not keep it. */
static struct series *rows_put_series(struct library *l, const struct series_row *row)
{
	struct series *p = series_put(l->set, row, l->resource, l->end_ns);

	if (!p || !row->label[0].name)
		return p;
	series_label(l->set, "accelerator_type",
		     *l->id->accelerator ? l->id->accelerator : "UNKNOWN");
	if (*l->id->cluster)
		series_label(l->set, "cluster_name", l->id->cluster);
	return p;
}

static struct series *rows_put_real(struct library *l, const struct series_row *row, double value)
{
	struct series *p = rows_put_series(l, row);

	if (p)
		p->value.real = value;
	return p;
}

static struct series *rows_put_count(struct library *l, const struct series_row *row, int64_t value)
{
	struct series *p = rows_put_series(l, row);

	if (p)
		p->value.i64 = value;
	return p;
}

/* Sets a label. text NULL: leaves the label absent. */
static void rows_put_label(struct library *l, const struct series *p, const char *name,
			   const char *text)
{
	if (p && text)
		series_label(l->set, name, text);
}

/* Adds the badput of one source. size: length of the window in seconds, as digits; NULL: all
 * time. */
static const struct series *rows_put_badput(struct library *l, const char *source, double value,
					    const char *size)
{
	const struct series *p = rows_put_real(l, size ? &interval_badput : &badput_time, value);

	rows_put_label(l, p, "badput_source", source);
	rows_put_label(l, p, "rolling_window_size", size);
	return p;
}

static void rows_put_goodput(struct library *l, double value, const char *size)
{
	const struct series *p = rows_put_real(l, size ? &interval_goodput : &goodput_time, value);

	rows_put_label(l, p, "goodput_source", "TOTAL");
	rows_put_label(l, p, "rolling_window_size", size);
}

static void rows_put_disruptions(struct library *l, uint64_t count)
{
	rows_put_label(l, rows_put_count(l, &disruptions, (int64_t)count), "window_type",
		       CUMULATIVE_LOWER);
}

static void rows_put_elapsed(struct library *l, double s)
{
	rows_put_label(l, rows_put_real(l, &total_elapsed_time, s), "window_type",
		       CUMULATIVE_LOWER);
}

/* ---- from a log ------------------------------------------------------------------------------ */

/* Adds the badput of each custom event type. Types that differ only in bytes not allowed in labels
 * give one series, with the value of the first. */
static void rows_put_customs(struct library *l, const struct goodput_part *p,
			     const struct goodput_names *names, const char *size)
{
	char source[GOODPUT_NAME_MAX + 32];
	struct table *known = table_new();
	const struct series *put;
	uint64_t key;

	for (size_t i = 0; known && i < p->custom_count; i++) {
		snprintf(source, sizeof(source), "%s.%s", badput_name(BADPUT_CUSTOM),
			 goodput_name(names, p->custom[i].name));
		put = rows_put_badput(l, source, size ? p->custom[i].pct : p->custom[i].s, size);
		key = put ? series_key(l->set, put, "") : 0;
		if (!put || (!table_get(known, key) && !table_put(known, key, known)))
			continue;
		l->set->count--;
		l->set->unkept++;
	}
	l->set->unkept += known ? 0 : p->custom_count;
	table_free(known, NULL);
}

static void rows_put_efficiency(struct library *l, double stepping, double available,
				const char *type, const char *size)
{
	const struct series *p = rows_put_real(l, &stepping_efficiency, stepping);

	rows_put_label(l, p, "window_type", type);
	rows_put_label(l, p, "rolling_window_size", size);
	p = rows_put_real(l, &available_efficiency, available);
	rows_put_label(l, p, "window_type", type);
	rows_put_label(l, p, "rolling_window_size", size);
}

static void rows_answer_badput(struct library *l, const struct goodput_part *p,
			       const struct goodput_names *names, const char *size)
{
	const double *value = size ? p->badput_pct : p->badput_s;
	uint32_t all = size ? p->has_pct : p->has_s, has = all & ~NEVER_SENT;
	double hang = all & 1u << BADPUT_HANG ? value[BADPUT_HANG] : 0;

	for (int b = 0; b < BADPUTS; b++) {
		if (has & 1u << b)
			rows_put_badput(l, badput_name(b),
					value[b] + (b == BADPUT_OTHER ? hang : 0), size);
	}
	rows_put_customs(l, p, names, size);
}

static void rows_answer_cumulative(struct library *l, const struct goodput_part *p,
				   const struct goodput_names *names)
{
	rows_put_goodput(l, p->productive_s, NULL);
	rows_answer_badput(l, p, names, NULL);
	rows_put_disruptions(l, p->disruptions);
	if (p->max_productive_step >= 0)
		rows_put_count(l, &max_productive_steps, p->max_productive_step);
	if (p->has_deviation)
		rows_put_real(l, &step_time_deviation, p->deviation_cumulative_s);
	rows_put_elapsed(l, p->total_s);
	/* 0 stands for an unknown ideal step time, as in the library */
	rows_put_real(l, &performance, p->has_ideal ? p->ideal_s : 0);
	if (p->has_slices)
		rows_put_efficiency(l, p->stepping_efficiency, p->available_efficiency,
				    CUMULATIVE_UPPER, "0");
}

void gcm_library_answer(struct series_set *out, const struct goodput_answer *answer,
			const struct goodput_names *names, const struct gcm_identity *id,
			const struct gcm_options *o)
{
	const struct goodput_part *p;
	struct library l;
	char size[24];

	if (answer->warnings[WARN_NO_START] || answer->now_us <= 0 ||
	    answer->now_us > INT64_MAX / 1000 ||
	    !rows_library_begin(&l, out, id, goodput_name(names, answer->job),
				answer->now_us * 1000))
		return;
	if (!answer->cumulative.error)
		rows_answer_cumulative(&l, &answer->cumulative, names);
	for (size_t i = 0; i < answer->window_count && i < GCM_ROLLING_MAX && o->rolling_s[i];
	     i++) {
		p = &answer->windows[i];
		if (p->error)
			continue;
		snprintf(size, sizeof(size), "%" PRId64, o->rolling_s[i]);
		rows_put_goodput(&l, p->goodput_pct, size);
		rows_answer_badput(&l, p, names, size);
		if (p->has_slices)
			rows_put_efficiency(&l, p->span_stepping, p->span_available, "INTERVAL",
					    size);
	}
}

/* ---- from a job that runs here --------------------------------------------------------------- */

/* Returns the training loop of the job's reference rank; NULL: unknown. */
static const struct loop_view *rows_reference_loop(const struct snapshot *s,
						   const struct job_view *j)
{
	for (const struct rank_view *r = s->ranks; j->reference_pid && r < s->ranks + s->nranks;
	     r++) {
		if (!r->alive || r->pid != j->reference_pid || r->job_key != j->key)
			continue;
		for (uint32_t i = 0; i < r->nloops; i++) {
			if (r->loops[i].state.unit == UNIT_STEP &&
			    r->loops[i].state.confidence >= STEP_CONFIDENCE &&
			    r->loops[i].time.ideal_ns)
				return &r->loops[i];
		}
	}
	return NULL;
}

/* Returns the step time deviation in seconds, as the library computes it. Up to 100 steps it is the
 * mean deviation, then the 90th percentile of the last 100 steps. From 1,100 steps on the usual
 * deviation is subtracted; gp-bpf uses the median absolute deviation of the last 1,024 steps for
 * it. */
static double rows_live_deviation(const struct loop_view *l)
{
	double ideal_s = (double)l->time.ideal_ns / ROWS_NS_PER_S, s[SNAPSHOT_RECENT], metric;
	uint32_t n = l->recent < DEVIATION_STEPS ? l->recent : DEVIATION_STEPS;

	for (uint32_t i = 0; i < n; i++)
		s[i] = fabs((double)l->recent_ns[l->recent - n + i] / ROWS_NS_PER_S - ideal_s);
	metric = deviation_batch_metric(s, n, true);
	return l->time.count < DEVIATION_LONG ? metric
					      : metric - (double)l->time.mad_ns / ROWS_NS_PER_S;
}

/* Returns true if the bucket is sent as a badput source. Hangs are added to OTHER instead: the
 * service refuses sources that the library does not have. */
static bool rows_live_exported(uint32_t bucket, uint64_t ns)
{
	if (bucket == BUCKET_GOODPUT || bucket == BUCKET_UNOBSERVED || bucket == BUCKET_HANG)
		return false;
	return ns || (bucket < BUCKET_COUNT && bucket_use[bucket] & BUCKET_USE_ALWAYS);
}

static void rows_live_cumulative(struct library *l, const struct snapshot *s,
				 const struct job_view *j)
{
	const struct loop_view *loop = rows_reference_loop(s, j);
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	rows_put_goodput(l, (double)j->ledger.ns[BUCKET_GOODPUT] / ROWS_NS_PER_S, NULL);
	for (uint32_t b = 0; (name = ledger_part(&j->ledger, &s->types, b, room, &ns)); b++) {
		ns += b == BUCKET_OTHER ? j->ledger.ns[BUCKET_HANG] : 0;
		if (rows_live_exported(b, ns))
			rows_put_badput(l, name, (double)ns / ROWS_NS_PER_S, NULL);
	}
	rows_put_disruptions(l, j->ledger.disruptions);
	/* After a restart from the first step, send 0, as the library does. */
	if (j->last_step || j->ledger.steps)
		rows_put_count(l, &max_productive_steps,
			       j->last_step ? (int64_t)j->last_step - 1 : 0);
	rows_put_elapsed(l, (double)ledger_elapsed(&j->ledger) / ROWS_NS_PER_S);
	if (!loop)
		return;
	rows_put_real(l, &performance, (double)loop->time.ideal_ns / ROWS_NS_PER_S);
	if (loop->recent)
		rows_put_real(l, &step_time_deviation, rows_live_deviation(loop));
}

static uint64_t rows_live_type(const struct ledger_view *l, uint32_t type)
{
	for (uint32_t i = 1; i < l->ntypes; i++) {
		if (l->types[i].name == type)
			return l->types[i].ns;
	}
	return 0;
}

/* Adds the series of one window. A source that the job ever had is sent even at 0: readers would
 * otherwise take its last value as the current one. */
static void rows_live_window(struct library *l, const struct snapshot *s, const struct job_view *j,
			     const struct window_view *w, const char *size)
{
	double observed_ns = (double)(window_elapsed(w) - w->ns[BUCKET_UNOBSERVED]);
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns, ever_ns;

	if (observed_ns <= 0)
		return;
	rows_put_goodput(l, 100 * (double)w->ns[BUCKET_GOODPUT] / observed_ns, size);
	for (uint32_t b = 0;
	     b < BUCKETS_EXPORTED && (name = window_part(w, &s->types, b, room, &ns)); b++) {
		ns += b == BUCKET_OTHER ? w->ns[BUCKET_HANG] : 0;
		ledger_part(&j->ledger, &s->types, b, room, &ever_ns);
		if (rows_live_exported(b, ns | ever_ns))
			rows_put_badput(l, name, 100 * (double)ns / observed_ns, size);
	}
	for (uint32_t k = 1; k < LEDGER_TYPES; k++) {
		if (!w->type_ns[k] && !rows_live_type(&j->ledger, k))
			continue;
		snprintf(room, sizeof(room), "%s.%s", bucket_name[BUCKET_CUSTOM], s->types.name[k]);
		rows_put_badput(l, room, 100 * (double)w->type_ns[k] / observed_ns, size);
	}
}

static void rows_live_job(struct library *l, const struct snapshot *s, const struct job_view *j,
			  const struct gcm_options *o)
{
	char size[24];

	rows_live_cumulative(l, s, j);
	for (int i = 0; i < GCM_ROLLING_MAX && o->rolling_s[i]; i++) {
		snprintf(size, sizeof(size), "%" PRId64, o->rolling_s[i]);
		for (int k = 0; k < WINDOWS_MAX && j->windows[k].length_ns; k++)
			if (j->windows[k].length_ns == (uint64_t)o->rolling_s[i] * 1000000000ull)
				rows_live_window(l, s, j, &j->windows[k], size);
	}
}

void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o)
{
	char room[EXPORT_JOB_ROOM];
	struct owners owners;
	struct library l;

	if (owners_select(&owners, s, s->njobs, 0))
		out->unkept += s->njobs;
	for (size_t i = 0; i < owners.njobs; i++) {
		const struct job_view *j = owners.jobs[i].job;

		if (j->reported_here && ledger_elapsed(&j->ledger) &&
		    rows_library_begin(&l, out, id, export_job_name(j, room), s->real_ns))
			rows_live_job(&l, s, j, o);
	}
	owners_free(&owners);
}
