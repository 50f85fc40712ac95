/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/job_name.h"
#include "userspace/export/gcm/rows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/account/log/deviation_batch.h"
#include "userspace/base/table.h"
#include "userspace/ingest/goodput_names.h"
#include "userspace/model/job/fact.h"

#define ROWS_NS_PER_S 1e9
/* Ended jobs and ranks are written for this long: the end of a job is known JOB_WAIT_NS after its
 * disruption, and its last values get through an outage of five minutes. */
#define ROWS_AFTER_NS (JOB_WAIT_NS + 300000000000ull)

#define ROWS_NAME_MAX  256
#define ROLLING_MOST_S 999999999 /* 31 years */

/* Returns true if this node writes the job, it runs or ended recently, and it owns its name: of
 * several jobs with one name, the newest one that runs, or the newest one if all have ended. */
static bool rows_job_shown(const struct snapshot *s, const struct job_view *j)
{
	if (!j->reported_here || (j->ledger.ended && s->mono_ns - j->ledger.now_ns > ROWS_AFTER_NS))
		return false;
	for (const struct job_view *x = s->jobs; x < s->jobs + s->njobs; x++) {
		if (x == j || !x->reported_here || !export_job_same(j, x))
			continue;
		if (x->ledger.ended == j->ledger.ended ? x > j : !x->ledger.ended)
			return false;
	}
	return true;
}

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

	/* Domain-scoped ids contain a dot and a colon: "example.com:demo". */
	return len > 0 && len < sizeof(((struct gcm_identity *)NULL)->project) &&
	       isalnum((unsigned char)*id) &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == len;
}

/* ---- our own series -------------------------------------------------------------------------- */

/* An unknown value is absent, never 0. */

#define LABEL_JOB                                                                                  \
	{                                                                                          \
		"job_id", "Name of the job; of one without a name, pid- and its first process.",   \
			false                                                                      \
	}
#define LABEL_RANK                                                                                 \
	{                                                                                          \
		"rank", "Rank of the process in its job; absent where it is not known.", true      \
	}
#define LABEL_PID                                                                                  \
	{                                                                                          \
		"pid", "Process, where its rank is not known.", true                               \
	}
#define LABEL_LOOP                                                                                 \
	{                                                                                          \
		"loop", "Training loop of the process, from 0: few have more than one.", true      \
	}
#define LABELS_RANK  LABEL_JOB, LABEL_RANK, LABEL_PID
#define LABELS_LOOP  LABELS_RANK, LABEL_LOOP
#define GAUGE	     SERIES_GAUGE
#define CUMULATIVE   SERIES_CUMULATIVE
#define INT64	     SERIES_INT64
#define DOUBLE	     SERIES_DOUBLE
#define BOOL	     SERIES_BOOL
#define DISTRIBUTION SERIES_DISTRIBUTION

/* All names are only here: id, name, kind, type, unit, title, help, labels. The man page's table is
 * made from it (tests/unit/gcm_rows_test.c compares them). */
#define GCM_ROWS(X)                                                                                   \
	X(job_steps, "job/step_count", CUMULATIVE, INT64, "1", "Steps",                               \
	  "Training steps that the job made, those made again included.", LABEL_JOB)                  \
	X(job_number, "job/step_number", GAUGE, INT64, "1", "Step",                                   \
	  "Number of the newest step that counts; it falls when a restart goes back.", LABEL_JOB)     \
	X(job_goodput, "job/goodput_time", GAUGE, DOUBLE, "s", "Goodput",                             \
	  "Time that became training progress which counts; it falls when a restart disproves some.", \
	  LABEL_JOB)                                                                                  \
	X(job_badput, "job/badput_time", GAUGE, DOUBLE, "s", "Badput",                                \
	  "All other time of the job, by bucket: with goodput_time they add up to elapsed_time.",     \
	  LABEL_JOB, {"bucket", "Where the time went, as the goodput library names it.", false})      \
	X(job_elapsed, "job/elapsed_time", GAUGE, DOUBLE, "s", "Elapsed time",                        \
	  "Time since the job began, or until it ended, but for what is left out.", LABEL_JOB)        \
	X(job_productive, "job/productive_time", CUMULATIVE, DOUBLE, "s", "Productive time",          \
	  "Time ever booked as progress; what a restart disproves is not taken back here.",           \
	  LABEL_JOB)                                                                                  \
	X(job_wasted, "job/wasted_time", CUMULATIVE, DOUBLE, "s", "Wasted time",                      \
	  "Progress that restarts have disproved.", LABEL_JOB)                                        \
	X(job_disruptions, "job/disruption_count", CUMULATIVE, INT64, "1", "Disruptions",             \
	  "Events that interrupted the job, however many ranks fell.", LABEL_JOB,                     \
	  {"cause",                                                                                   \
	   "What ended the first rank that fell: killed, crashed, oom, ...; other: known to "         \
	   "another node alone.",                                                                     \
	   false})                                                                                    \
	X(job_state, "job/state", GAUGE, BOOL, "", "State of the job",                                \
	  "True for the state the job is in.", LABEL_JOB,                                             \
	  {"state", "running, down, over or ended.", false})                                          \
	X(rank_steps, "rank/step_count", CUMULATIVE, INT64, "1", "Steps of a rank",                   \
	  "Training steps observed of the process.", LABELS_LOOP)                                     \
	X(rank_step_time, "rank/step_time", CUMULATIVE, DISTRIBUTION, "s", "Step time",               \
	  "Times of training steps.", LABELS_LOOP)                                                    \
	X(rank_ideal, "rank/ideal_step_time", GAUGE, DOUBLE, "s", "Ideal step time",                  \
	  "Mean of the last 1024 steps no slower than their median plus three median deviations.",    \
	  LABELS_LOOP)                                                                                \
	X(rank_deviation, "rank/step_deviation", GAUGE, DOUBLE, "s", "Step deviation",                \
	  "Mean distance of the last 128 steps from the ideal step.", LABELS_LOOP)                    \
	X(rank_state, "rank/state", GAUGE, BOOL, "", "State of a loop",                               \
	  "True for the state the loop is in.", LABELS_LOOP,                                          \
	  {"state", "idle, starting, learning, locked, suspect or ended.", false})                    \
	X(rank_collective, "rank/collective_time", CUMULATIVE, DOUBLE, "s", "Collective wait",        \
	  "Host time inside steps that was spent in collectives.", LABELS_LOOP)                       \
	X(rank_hung, "rank/hung", GAUGE, BOOL, "", "Hung", "True while the rank hangs.",              \
	  LABELS_RANK)                                                                                \
	X(rank_straggler, "rank/straggler", GAUGE, BOOL, "", "Straggler",                             \
	  "True while the other ranks wait for this one; absent where it is alone.", LABELS_RANK)

#define X(id, name, kind, value, unit, title, help, ...)                                           \
	static const struct series_row row_##id = {name,  kind, value,	       unit,               \
						   title, help, {__VA_ARGS__}, false};
GCM_ROWS(X)
#undef X

const struct series_row *const gcm_rows[] = {
#define X(id, ...) &row_##id,
	GCM_ROWS(X)
#undef X
		NULL};

struct own { /* the set that is being written */
	struct series_set *set;
	const struct snapshot *s;
	uint32_t resource;
	char job[ROWS_NAME_MAX], rank[12], pid[12], loop[12]; /* labels; "": absent */
	int64_t start_ns;				      /* of cumulative series */
};

static int64_t rows_own_real(const struct own *o, uint64_t mono_ns)
{
	return o->s->real_ns - (int64_t)(o->s->mono_ns - mono_ns);
}

/* NULL: not kept. */
static struct series *rows_own_put(struct own *o, const struct series_row *row)
{
	const struct {
		const char *name, *value;
	} labels[] = {{"job_id", o->job}, {"rank", o->rank}, {"pid", o->pid}, {"loop", o->loop}};
	struct series *p = series_put(o->set, row, o->resource, o->s->real_ns);

	if (!p)
		return NULL;
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		for (int k = 0; *labels[i].value && k < SERIES_LABELS && row->label[k].name; k++) {
			if (!strcmp(row->label[k].name, labels[i].name))
				series_label(o->set, labels[i].name, labels[i].value);
		}
	}
	if (row->kind == SERIES_CUMULATIVE)
		p->start_ns = o->start_ns;
	return p;
}

static void rows_own_label(struct own *o, const struct series *p, const char *name,
			   const char *value)
{
	if (p)
		series_label(o->set, name, value);
}

static struct series *rows_own_count(struct own *o, const struct series_row *row, uint64_t count)
{
	struct series *p = rows_own_put(o, row);

	if (p)
		p->value.i64 = (int64_t)count;
	return p;
}

static struct series *rows_own_seconds(struct own *o, const struct series_row *row, double ns)
{
	struct series *p = rows_own_put(o, row);

	if (p)
		p->value.real = ns / ROWS_NS_PER_S;
	return p;
}

static struct series *rows_own_bool(struct own *o, const struct series_row *row, bool yes)
{
	struct series *p = rows_own_put(o, row);

	if (p)
		p->value.yes = yes;
	return p;
}

/* ---- resource -------------------------------------------------------------------------------- */

static uint32_t rows_own_resource(struct series_set *set, const struct gcm_identity *id)
{
	static const char *const node[] = {"location", "cluster_name", "node_name", NULL};
	static const char *const instance[] = {"instance_id", "zone", NULL};
	static const char *const generic[] = {"location", "namespace", "node_id", NULL};
	const char *location = id->location, *dash = strchr(location, '-');
	bool zone = dash && strchr(dash + 1, '-'); /* the name of a region has one dash */

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

/* ---- jobs ------------------------------------------------------------------------------------ */

static void rows_job_time(struct own *o, const struct job_view *j)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t b = 0; (name = ledger_part(&j->ledger, &o->s->types, b, room, &ns)); b++) {
		if (b == BUCKET_GOODPUT)
			rows_own_seconds(o, &row_job_goodput, (double)ns);
		else
			rows_own_label(o, rows_own_seconds(o, &row_job_badput, (double)ns),
				       "bucket", name);
	}
	rows_own_seconds(o, &row_job_elapsed, (double)ledger_elapsed(&j->ledger));
}

static void rows_job_disruptions(struct own *o, const struct job_view *j)
{
	uint64_t rest = j->ledger.disruptions - j->unsettled; /* its cause may still change */
	const struct series *p;

	for (uint32_t i = 0; i < j->ncauses; i++) {
		p = rows_own_count(o, &row_job_disruptions, j->causes[i].count);
		rows_own_label(o, p, "cause", disruption_cause_name[j->causes[i].cause]);
		rest -= j->causes[i].count < rest ? j->causes[i].count : rest;
	}
	if (!rest)
		return;
	p = rows_own_count(o, &row_job_disruptions, rest);
	rows_own_label(o, p, "cause", "other");
}

static void rows_own_job_put(struct own *o, const struct job_view *j)
{
	char room[EXPORT_JOB_ROOM];

	snprintf(o->job, sizeof(o->job), "%s", export_job_name(j, room));
	*o->rank = *o->pid = *o->loop = '\0';
	o->start_ns = j->since_real_ns > 0 ? j->since_real_ns
					   : rows_own_real(o, j->ledger.start_ns);
	rows_own_count(o, &row_job_steps, j->ledger.steps);
	if (j->last_step || j->ledger.steps) /* 0: a restart began from the start */
		rows_own_count(o, &row_job_number, j->last_step);
	rows_job_time(o, j);
	rows_own_seconds(o, &row_job_productive, (double)j->ledger.productive_gross_ns);
	rows_own_seconds(o, &row_job_wasted, (double)j->wasted_gross_ns);
	rows_job_disruptions(o, j);
	for (int i = JOB_RUNNING; i <= JOB_ENDED; i++)
		rows_own_label(o, rows_own_bool(o, &row_job_state, i == (int)j->state), "state",
			       job_state_name[i]);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static const struct job_view *rows_own_job_of(const struct snapshot *s, const struct rank_view *r)
{
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (s->jobs[i].key == r->job_key)
			return &s->jobs[i];
	}
	return NULL;
}

/* Returns true when both have the same series: the same rank, or, without a rank, the same process,
 * which may have executed another program. */
static bool rows_rank_same(const struct snapshot *s, const struct rank_view *a,
			   const struct rank_view *b)
{
	const struct job_view *of_a, *of_b;

	if (!a->trainer || !b->trainer || a->rank != b->rank || (a->rank < 0 && a->pid != b->pid))
		return false;
	if (a->job_key == b->job_key)
		return true;
	of_a = rows_own_job_of(s, a);
	of_b = rows_own_job_of(s, b);
	return of_a && of_b && export_job_same(of_a, of_b);
}

/* If several ranks had the same series one after the other, the latest one has it. */
static bool rows_rank_newest(const struct snapshot *s, const struct rank_view *r)
{
	bool later;

	for (const struct rank_view *x = s->ranks; x < s->ranks + s->nranks; x++) {
		if (x == r || !rows_rank_same(s, r, x))
			continue;
		later = x->start_mono_ns > r->start_mono_ns ||
			(x->start_mono_ns == r->start_mono_ns && x > r);
		if (x->alive == r->alive ? later : x->alive)
			return false;
	}
	return true;
}

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
	if (rows_own_put(o, &row_rank_step_time))
		series_distribution(o->set, &d);
}

static void rows_loop_put(struct own *o, const struct loop_view *l)
{
	snprintf(o->loop, sizeof(o->loop), "%u", l->state.loop);
	for (int i = STATE_IDLE; i <= STATE_ENDED; i++)
		rows_own_label(o, rows_own_bool(o, &row_rank_state, i == (int)l->state.state),
			       "state", step_state_name[i]);
	if (l->state.unit != UNIT_STEP)
		return;
	rows_own_count(o, &row_rank_steps, l->state.steps);
	if (l->phases_known & 1u << PHASE_COLLECTIVE)
		rows_own_seconds(o, &row_rank_collective, (double)l->phase_ns[PHASE_COLLECTIVE]);
	if (l->state.confidence < STEP_CONFIDENCE || !l->time.count)
		return;
	rows_step_time(o, &l->time);
	if (!l->time.ideal_ns)
		return;
	rows_own_seconds(o, &row_rank_ideal, (double)l->time.ideal_ns);
	rows_own_seconds(o, &row_rank_deviation, l->time.deviation_ns);
}

static void rows_rank_put(struct own *o, const struct rank_view *r, const struct job_view *j)
{
	char room[EXPORT_JOB_ROOM];

	snprintf(o->job, sizeof(o->job), "%s", export_job_name(j, room));
	*o->rank = *o->pid = *o->loop = '\0';
	if (r->rank >= 0)
		snprintf(o->rank, sizeof(o->rank), "%d", r->rank);
	else
		snprintf(o->pid, sizeof(o->pid), "%u", r->pid);
	o->start_ns = r->since_real_ns > 0 ? r->since_real_ns : rows_own_real(o, r->observed_ns);
	/* Readers keep the last value, so it is also written for a process that ended. */
	rows_own_bool(o, &row_rank_hung, r->alive && r->hang.hung);
	if (j->run_ranks > 1)
		rows_own_bool(o, &row_rank_straggler, r->alive && r->straggle.now);
	for (uint32_t i = 0; i < r->nloops; i++)
		rows_loop_put(o, &r->loops[i]);
}

void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id)
{
	struct own o = {.set = out, .s = s};
	const struct job_view *j;

	if (!s->real_ns)
		return;
	o.resource = rows_own_resource(out, id);
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (rows_job_shown(s, &s->jobs[i]))
			rows_own_job_put(&o, &s->jobs[i]);
	}
	for (const struct rank_view *r = s->ranks; r < s->ranks + s->nranks; r++) {
		j = r->trainer ? rows_own_job_of(s, r) : NULL;
		if (!j || (!r->alive && s->mono_ns - r->ledger.now_ns > ROWS_AFTER_NS) ||
		    !rows_rank_newest(s, r))
			continue;
		rows_rank_put(&o, r, j);
	}
}

/* ---- series of the goodput library ----------------------------------------------------------- */

/* Metrics of ml-goodput-measurement 0.2.3 (src/gcp_metrics.py, src/monitoring.py): types, labels
 * and the case of their values are the library's. Performance is the ideal step time here. */

#define CUMULATIVE_LOWER "cumulative" /* of disruptions and elapsed time */
#define CUMULATIVE_UPPER "CUMULATIVE" /* of slice efficiency */
/* Custom events are sent by type. The service knows no source for hangs, which are sent as OTHER,
 * nor for unobserved time. */
#define NEVER_SENT                                                                                 \
	((1u << BADPUT_LOAD_ASYNC) | (1u << BADPUT_CUSTOM) | (1u << BADPUT_HANG) |                 \
	 (1u << BADPUT_UNOBSERVED))
/* The library's metric covers this number of last steps. */
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

struct library { /* the series of one job */
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

/* Adds the labels that all of them except performance have. NULL: not kept. */
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

/* text NULL: no label. */
static void rows_put_label(struct library *l, const struct series *p, const char *name,
			   const char *text)
{
	if (p && text)
		series_label(l->set, name, text);
}

/* size not NULL: for a window of this length in seconds, digits only. */
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

/* Two names that differ only in bytes not allowed in labels give one series: the first name has
 * it. */
static void rows_put_customs(struct library *l, const struct goodput_part *p,
			     const struct goodput_names *names, const char *size)
{
	char source[GOODPUT_NAME_MAX + 32];
	struct table *known = table_new();
	const struct series *put;
	uint64_t key;

	for (size_t i = 0; known && i < p->custom_count; i++) {
		snprintf(source, sizeof(source), "%s.%s", badput_name[BADPUT_CUSTOM],
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
			rows_put_badput(l, badput_name[b],
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
	/* 0: unknown, as in the library */
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

/* Returns the loop that makes the job's steps; NULL: unknown. */
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

/* As in the library: the mean of up to 100 steps, else the 90th percentile of the last 100; from
 * 1100 on minus the usual deviation, for which the MAD of the last 1024 steps is used here. */
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

/* A hang is part of OTHER: the service refuses sources that the library does not have. */
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
	/* as in the library, 0 after a restart from the start */
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

/* A source that a job once had keeps its series: readers would otherwise take its last value for
 * the current one. */
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

void gcm_library(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id,
		 const struct gcm_options *o)
{
	char room[EXPORT_JOB_ROOM], size[24];
	struct library l;

	for (const struct job_view *j = s->jobs; j < s->jobs + s->njobs; j++) {
		if (!rows_job_shown(s, j) || !ledger_elapsed(&j->ledger) ||
		    !rows_library_begin(&l, out, id, export_job_name(j, room), s->real_ns))
			continue;
		rows_live_cumulative(&l, s, j);
		for (int i = 0; i < GCM_ROLLING_MAX && o->rolling_s[i]; i++) {
			snprintf(size, sizeof(size), "%" PRId64, o->rolling_s[i]);
			for (int k = 0; k < WINDOWS_MAX && j->windows[k].length_ns; k++) {
				if (j->windows[k].length_ns ==
				    (uint64_t)o->rolling_s[i] * 1000000000ull)
					rows_live_window(&l, s, j, &j->windows[k], size);
			}
		}
	}
}
