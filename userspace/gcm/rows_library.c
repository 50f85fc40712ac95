/* SPDX-License-Identifier: Apache-2.0 */
/* rows_library.c - the series of ml-goodput-measurement 0.2.3 (src/gcp_metrics.py,
 * src/monitoring.py): types, labels and the case of their values are its own. performance has one
 * meaning here, the ideal step time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/account/deviation_batch.h"
#include "userspace/base/table.h"
#include "userspace/gcm/rows_private.h"
#include "userspace/ingest/goodput_names.h"

#define CUMULATIVE_LOWER "cumulative" /* of disruptions and elapsed time */
#define CUMULATIVE_UPPER "CUMULATIVE" /* of slice efficiency */
/* Custom ones are told by type. The service knows no hang, which is in OTHER, and nothing that was
 * not observed. */
#define NEVER_TOLD                                                                                 \
	((1u << BADPUT_LOAD_ASYNC) | (1u << BADPUT_CUSTOM) | (1u << BADPUT_HANG) |                 \
	 (1u << BADPUT_UNOBSERVED))
/* Percent and seconds of these are told whether or not there are any. An outage is one of them:
 * what was one is none where the job turns out to be over since. */
#define ALWAYS                                                                                     \
	(1u << BUCKET_ACCELERATOR_INIT | 1u << BUCKET_TRAINING_PREP | 1u << BUCKET_DATA_LOADING |  \
	 1u << BUCKET_CHECKPOINT_SAVE | 1u << BUCKET_CHECKPOINT_RESTORE |                          \
	 1u << BUCKET_PROGRAM_STARTUP | 1u << BUCKET_WASTED | 1u << BUCKET_RECOVERY |              \
	 1u << BUCKET_OTHER)
#define DEVIATION_STEPS                                                                            \
	100 /* the library's metric is of the last so many, where there are more                   \
	     */
#define DEVIATION_LONG 1100

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

struct library { /* the series of one job */
	struct series_set *set;
	const struct gcm_identity *id;
	uint32_t resource;
	int64_t end_ns;
};

static bool library_begin(struct library *l, struct series_set *set, const struct gcm_identity *id,
			  const char *job, int64_t end_ns)
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

/* With the labels that all have but performance. NULL: not kept. */
static struct series *put(struct library *l, const struct series_row *row)
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

static struct series *put_real(struct library *l, const struct series_row *row, double value)
{
	struct series *p = put(l, row);

	if (p)
		p->value.real = value;
	return p;
}

static struct series *put_count(struct library *l, const struct series_row *row, int64_t value)
{
	struct series *p = put(l, row);

	if (p)
		p->value.i64 = value;
	return p;
}

/* NULL text: none. */
static void put_label(struct library *l, const struct series *p, const char *name, const char *text)
{
	if (p && text)
		series_label(l->set, name, text);
}

/* Of a window where size is not NULL: its seconds, digits alone. */
static const struct series *put_badput(struct library *l, const char *source, double value,
				       const char *size)
{
	const struct series *p = put_real(l, size ? &interval_badput : &badput_time, value);

	put_label(l, p, "badput_source", source);
	put_label(l, p, "rolling_window_size", size);
	return p;
}

static void put_goodput(struct library *l, double value, const char *size)
{
	const struct series *p = put_real(l, size ? &interval_goodput : &goodput_time, value);

	put_label(l, p, "goodput_source", "TOTAL");
	put_label(l, p, "rolling_window_size", size);
}

static void put_disruptions(struct library *l, uint64_t count)
{
	put_label(l, put_count(l, &disruptions, (int64_t)count), "window_type", CUMULATIVE_LOWER);
}

static void put_elapsed(struct library *l, double s)
{
	put_label(l, put_real(l, &total_elapsed_time, s), "window_type", CUMULATIVE_LOWER);
}

/* ---- of a log
 * ------------------------------------------------------------------------------------ */

/* Two names that differ in bytes which no label can have are one series: the first one has it. */
static void put_customs(struct library *l, const struct goodput_part *p,
			const struct goodput_names *names, const char *size)
{
	char source[GOODPUT_NAME_MAX + 32];
	struct table *known = table_new();
	const struct series *put;
	uint64_t key;

	for (size_t i = 0; known && i < p->custom_count; i++) {
		snprintf(source, sizeof(source), "%s.%s", badput_name[BADPUT_CUSTOM],
			 goodput_name(names, p->custom[i].name));
		put = put_badput(l, source, size ? p->custom[i].pct : p->custom[i].s, size);
		key = put ? series_key(l->set, put, "") : 0;
		if (!put || (!table_get(known, key) && !table_put(known, key, known)))
			continue;
		l->set->count--;
		l->set->unkept++;
	}
	l->set->unkept += known ? 0 : p->custom_count;
	table_free(known, NULL);
}

static void put_efficiency(struct library *l, double stepping, double available, const char *type,
			   const char *size)
{
	const struct series *p = put_real(l, &stepping_efficiency, stepping);

	put_label(l, p, "window_type", type);
	put_label(l, p, "rolling_window_size", size);
	p = put_real(l, &available_efficiency, available);
	put_label(l, p, "window_type", type);
	put_label(l, p, "rolling_window_size", size);
}

static void answer_badput(struct library *l, const struct goodput_part *p,
			  const struct goodput_names *names, const char *size)
{
	const double *value = size ? p->badput_pct : p->badput_s;
	uint32_t all = size ? p->has_pct : p->has_s, has = all & ~NEVER_TOLD;
	double hang = all & 1u << BADPUT_HANG ? value[BADPUT_HANG] : 0;

	for (int b = 0; b < BADPUTS; b++) {
		if (has & 1u << b)
			put_badput(l, badput_name[b], value[b] + (b == BADPUT_OTHER ? hang : 0),
				   size);
	}
	put_customs(l, p, names, size);
}

static void answer_cumulative(struct library *l, const struct goodput_part *p,
			      const struct goodput_names *names)
{
	put_goodput(l, p->productive_s, NULL);
	answer_badput(l, p, names, NULL);
	put_disruptions(l, p->disruptions);
	if (p->max_productive_step >= 0)
		put_count(l, &max_productive_steps, p->max_productive_step);
	if (p->has_deviation)
		put_real(l, &step_time_deviation, p->deviation_cumulative_s);
	put_elapsed(l, p->total_s);
	/* 0: it is not known, as the library says that. */
	put_real(l, &performance, p->has_ideal ? p->ideal_s : 0);
	if (p->has_slices)
		put_efficiency(l, p->stepping_efficiency, p->available_efficiency, CUMULATIVE_UPPER,
			       "0");
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
	    !library_begin(&l, out, id, goodput_name(names, answer->job), answer->now_us * 1000))
		return;
	if (!answer->cumulative.error)
		answer_cumulative(&l, &answer->cumulative, names);
	for (size_t i = 0; i < answer->window_count && i < GCM_ROLLING_MAX && o->rolling_s[i];
	     i++) {
		p = &answer->windows[i];
		if (p->error)
			continue;
		snprintf(size, sizeof(size), "%" PRId64, o->rolling_s[i]);
		put_goodput(&l, p->goodput_pct, size);
		answer_badput(&l, p, names, size);
		if (p->has_slices)
			put_efficiency(&l, p->span_stepping, p->span_available, "INTERVAL", size);
	}
}

/* ---- of a job that runs here
 * --------------------------------------------------------------------- */

/* The loop that makes its steps. NULL: none is known. */
static const struct loop_view *reference_loop(const struct snapshot *s, const struct job_view *j)
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

/* As the library's: of under 100 steps the mean, else the 90th percentile of the last 100; from
 * 1100 on less the usual one, for which the MAD of the last 1024 stands here. */
static double live_deviation(const struct loop_view *l)
{
	double ideal_s = (double)l->time.ideal_ns / ROWS_NS_PER_S, s[SNAPSHOT_RECENT], metric;
	uint32_t n = l->recent < DEVIATION_STEPS ? l->recent : DEVIATION_STEPS;

	for (uint32_t i = 0; i < n; i++)
		s[i] = fabs((double)l->recent_ns[l->recent - n + i] / ROWS_NS_PER_S - ideal_s);
	metric = deviation_batch_metric(s, n, true);
	return l->time.count < DEVIATION_LONG ? metric
					      : metric - (double)l->time.mad_ns / ROWS_NS_PER_S;
}

/* A hang is in OTHER: the service refuses a source that the library does not have. */
static bool live_told(uint32_t bucket, uint64_t ns)
{
	if (bucket == BUCKET_GOODPUT || bucket == BUCKET_UNOBSERVED || bucket == BUCKET_HANG)
		return false;
	return ns || (bucket < BUCKET_COUNT && ALWAYS & 1u << bucket);
}

static void live_cumulative(struct library *l, const struct snapshot *s, const struct job_view *j)
{
	const struct loop_view *loop = reference_loop(s, j);
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	put_goodput(l, (double)j->ledger.ns[BUCKET_GOODPUT] / ROWS_NS_PER_S, NULL);
	for (uint32_t b = 0; (name = ledger_part(&j->ledger, &s->types, b, room, &ns)); b++) {
		ns += b == BUCKET_OTHER ? j->ledger.ns[BUCKET_HANG] : 0;
		if (live_told(b, ns))
			put_badput(l, name, (double)ns / ROWS_NS_PER_S, NULL);
	}
	put_disruptions(l, j->ledger.disruptions);
	if (j->last_step || j->ledger.steps) /* as the library, 0 after a restart from the start */
		put_count(l, &max_productive_steps, j->last_step ? (int64_t)j->last_step - 1 : 0);
	put_elapsed(l, (double)ledger_elapsed(&j->ledger) / ROWS_NS_PER_S);
	if (!loop)
		return;
	put_real(l, &performance, (double)loop->time.ideal_ns / ROWS_NS_PER_S);
	if (loop->recent)
		put_real(l, &step_time_deviation, live_deviation(loop));
}

static uint64_t live_type(const struct ledger_view *l, uint32_t type)
{
	for (uint32_t i = 1; i < l->ntypes; i++) {
		if (l->types[i].name == type)
			return l->types[i].ns;
	}
	return 0;
}

/* A source that a job has had keeps its series: a reader would take its last value for the present
 * one. */
static void live_window(struct library *l, const struct snapshot *s, const struct job_view *j,
			const struct window_view *w, const char *size)
{
	double observed_ns = (double)(window_elapsed(w) - w->ns[BUCKET_UNOBSERVED]);
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns, ever_ns;

	if (observed_ns <= 0)
		return;
	put_goodput(l, 100 * (double)w->ns[BUCKET_GOODPUT] / observed_ns, size);
	for (uint32_t b = 0; b < BUCKETS_TOLD && (name = window_part(w, &s->types, b, room, &ns));
	     b++) {
		ns += b == BUCKET_OTHER ? w->ns[BUCKET_HANG] : 0;
		ledger_part(&j->ledger, &s->types, b, room, &ever_ns);
		if (live_told(b, ns | ever_ns))
			put_badput(l, name, 100 * (double)ns / observed_ns, size);
	}
	for (uint32_t k = 1; k < LEDGER_TYPES; k++) {
		if (!w->type_ns[k] && !live_type(&j->ledger, k))
			continue;
		snprintf(room, sizeof(room), "%s.%s", bucket_name[BUCKET_CUSTOM], s->types.name[k]);
		put_badput(l, room, 100 * (double)w->type_ns[k] / observed_ns, size);
	}
}

void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o)
{
	char room[ROWS_NAME_MAX], size[24];
	struct library l;

	for (const struct job_view *j = s->jobs; j < s->jobs + s->njobs; j++) {
		if (!rows_job_shown(s, j) || !ledger_elapsed(&j->ledger) ||
		    !library_begin(&l, out, id, rows_job_name(j, room), s->real_ns))
			continue;
		live_cumulative(&l, s, j);
		for (int i = 0; i < GCM_ROLLING_MAX && o->rolling_s[i]; i++) {
			snprintf(size, sizeof(size), "%" PRId64, o->rolling_s[i]);
			for (int k = 0; k < WINDOWS_MAX && j->windows[k].length_ns; k++) {
				if (j->windows[k].length_ns ==
				    (uint64_t)o->rolling_s[i] * 1000000000ull)
					live_window(&l, s, j, &j->windows[k], size);
			}
		}
	}
}
