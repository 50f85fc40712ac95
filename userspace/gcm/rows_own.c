/* SPDX-License-Identifier: Apache-2.0 */
/* rows_own.c - our own series. What is not known is absent, never 0. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "userspace/gcm/rows_private.h"
#include "userspace/model/fact.h"

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

/* The one place of names: id, name, kind, type, unit, title, help, labels. The man page's table is
 * made of it (tests/unit/gcm_rows_test.c compares). */
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

struct own { /* a set in the making */
	struct series_set *set;
	const struct snapshot *s;
	uint32_t resource;
	char job[ROWS_NAME_MAX], rank[12], pid[12], loop[12]; /* labels; "": absent */
	int64_t start_ns;				      /* of what counts */
};

static int64_t own_real(const struct own *o, uint64_t mono_ns)
{
	return o->s->real_ns - (int64_t)(o->s->mono_ns - mono_ns);
}

/* NULL: not kept. */
static struct series *own_put(struct own *o, const struct series_row *row)
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

static void own_label(struct own *o, const struct series *p, const char *name, const char *value)
{
	if (p)
		series_label(o->set, name, value);
}

static struct series *own_count(struct own *o, const struct series_row *row, uint64_t count)
{
	struct series *p = own_put(o, row);

	if (p)
		p->value.i64 = (int64_t)count;
	return p;
}

static struct series *own_seconds(struct own *o, const struct series_row *row, double ns)
{
	struct series *p = own_put(o, row);

	if (p)
		p->value.real = ns / ROWS_NS_PER_S;
	return p;
}

static struct series *own_bool(struct own *o, const struct series_row *row, bool yes)
{
	struct series *p = own_put(o, row);

	if (p)
		p->value.yes = yes;
	return p;
}

/* ---- resource
 * ------------------------------------------------------------------------------------ */

static uint32_t own_resource(struct series_set *set, const struct gcm_identity *id)
{
	static const char *const node[] = {"location", "cluster_name", "node_name", NULL};
	static const char *const instance[] = {"instance_id", "zone", NULL};
	static const char *const generic[] = {"location", "namespace", "node_id", NULL};
	const char *location = id->location, *dash = strchr(location, '-');
	bool zone = dash && strchr(dash + 1, '-'); /* a region has one dash */

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

/* ---- jobs
 * ---------------------------------------------------------------------------------------- */

static void job_time(struct own *o, const struct job_view *j)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t b = 0; (name = ledger_part(&j->ledger, &o->s->types, b, room, &ns)); b++) {
		if (b == BUCKET_GOODPUT)
			own_seconds(o, &row_job_goodput, (double)ns);
		else
			own_label(o, own_seconds(o, &row_job_badput, (double)ns), "bucket", name);
	}
	own_seconds(o, &row_job_elapsed, (double)ledger_elapsed(&j->ledger));
}

static void job_disruptions(struct own *o, const struct job_view *j)
{
	uint64_t rest = j->ledger.disruptions - j->unsettled; /* its cause may be another one yet */
	const struct series *p;

	for (uint32_t i = 0; i < j->ncauses; i++) {
		p = own_count(o, &row_job_disruptions, j->causes[i].count);
		own_label(o, p, "cause", j->causes[i].cause);
		rest -= j->causes[i].count < rest ? j->causes[i].count : rest;
	}
	if (!rest)
		return;
	p = own_count(o, &row_job_disruptions, rest);
	own_label(o, p, "cause", "other");
}

static void job_put(struct own *o, const struct job_view *j)
{
	char room[ROWS_NAME_MAX];

	snprintf(o->job, sizeof(o->job), "%s", rows_job_name(j, room));
	*o->rank = *o->pid = *o->loop = '\0';
	o->start_ns = j->since_real_ns > 0 ? j->since_real_ns : own_real(o, j->ledger.start_ns);
	own_count(o, &row_job_steps, j->ledger.steps);
	if (j->last_step || j->ledger.steps) /* 0: a restart went back to the start */
		own_count(o, &row_job_number, j->last_step);
	job_time(o, j);
	own_seconds(o, &row_job_productive, (double)j->ledger.productive_gross_ns);
	own_seconds(o, &row_job_wasted, (double)j->wasted_gross_ns);
	job_disruptions(o, j);
	for (int i = JOB_RUNNING; i <= JOB_ENDED; i++)
		own_label(o, own_bool(o, &row_job_state, i == (int)j->state), "state",
			  job_state_name[i]);
}

/* ---- ranks
 * --------------------------------------------------------------------------------------- */

static const struct job_view *job_of(const struct snapshot *s, const struct rank_view *r)
{
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (s->jobs[i].key == r->job_key)
			return &s->jobs[i];
	}
	return NULL;
}

/* They have the same series: a rank, or, where it is not known, a process, which may have become
 * another program. */
static bool rank_same(const struct snapshot *s, const struct rank_view *a,
		      const struct rank_view *b)
{
	const struct job_view *of_a, *of_b;

	if (!a->trainer || !b->trainer || a->rank != b->rank || (a->rank < 0 && a->pid != b->pid))
		return false;
	if (a->job_key == b->job_key)
		return true;
	of_a = job_of(s, a);
	of_b = job_of(s, b);
	return of_a && of_b && rows_same_job(of_a, of_b);
}

/* Of several that had the same series, one after the other, the later one has it. */
static bool rank_newest(const struct snapshot *s, const struct rank_view *r)
{
	bool later;

	for (const struct rank_view *x = s->ranks; x < s->ranks + s->nranks; x++) {
		if (x == r || !rank_same(s, r, x))
			continue;
		later = x->start_mono_ns > r->start_mono_ns ||
			(x->start_mono_ns == r->start_mono_ns && x > r);
		if (x->alive == r->alive ? later : x->alive)
			return false;
	}
	return true;
}

/* Steps of a time that is at most a bound are in its bucket there, and below it here: a nanosecond
 * more, and the counts are exact, since times are whole nanoseconds. */
static void step_time(struct own *o, const struct deviation_view *t)
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
	if (own_put(o, &row_rank_step_time))
		series_distribution(o->set, &d);
}

static void loop_put(struct own *o, const struct loop_view *l)
{
	snprintf(o->loop, sizeof(o->loop), "%u", l->state.loop);
	for (int i = STATE_IDLE; i <= STATE_ENDED; i++)
		own_label(o, own_bool(o, &row_rank_state, i == (int)l->state.state), "state",
			  step_state_name[i]);
	if (l->state.unit != UNIT_STEP)
		return;
	own_count(o, &row_rank_steps, l->state.steps);
	if (l->phases_known & 1u << PHASE_COLLECTIVE)
		own_seconds(o, &row_rank_collective, (double)l->phase_ns[PHASE_COLLECTIVE]);
	if (l->state.confidence < STEP_CONFIDENCE || !l->time.count)
		return;
	step_time(o, &l->time);
	if (!l->time.ideal_ns)
		return;
	own_seconds(o, &row_rank_ideal, (double)l->time.ideal_ns);
	own_seconds(o, &row_rank_deviation, l->time.deviation_ns);
}

static void rank_put(struct own *o, const struct rank_view *r, const struct job_view *j)
{
	char room[ROWS_NAME_MAX];

	snprintf(o->job, sizeof(o->job), "%s", rows_job_name(j, room));
	*o->rank = *o->pid = *o->loop = '\0';
	if (r->rank >= 0)
		snprintf(o->rank, sizeof(o->rank), "%d", r->rank);
	else
		snprintf(o->pid, sizeof(o->pid), "%u", r->pid);
	o->start_ns = r->since_real_ns > 0 ? r->since_real_ns : own_real(o, r->observed_ns);
	/* What was true stays so for a reader until it is told otherwise: of a process that ended
	 * too. */
	own_bool(o, &row_rank_hung, r->alive && r->hang.hung);
	if (j->run_ranks > 1)
		own_bool(o, &row_rank_straggler, r->alive && r->straggle.now);
	for (uint32_t i = 0; i < r->nloops; i++)
		loop_put(o, &r->loops[i]);
}

void gcm_own(struct series_set *out, const struct snapshot *s, const struct gcm_identity *id)
{
	struct own o = {.set = out, .s = s};
	const struct job_view *j;

	if (!s->real_ns)
		return;
	o.resource = own_resource(out, id);
	for (uint32_t i = 0; i < s->njobs; i++) {
		if (rows_job_shown(s, &s->jobs[i]))
			job_put(&o, &s->jobs[i]);
	}
	for (const struct rank_view *r = s->ranks; r < s->ranks + s->nranks; r++) {
		j = r->trainer ? job_of(s, r) : NULL;
		if (!j || (!r->alive && s->mono_ns - r->ledger.now_ns > ROWS_AFTER_NS) ||
		    !rank_newest(s, r))
			continue;
		rank_put(&o, r, j);
	}
}
