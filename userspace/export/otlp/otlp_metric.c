/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/job_name.h"
#include "userspace/export/otlp/otlp_metric.h"

#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/otlp/otlp_text.h"

#define NS_PER_S   1e9
#define CUMULATIVE 2 /* metrics.proto: AGGREGATION_TEMPORALITY_CUMULATIVE */

enum kind { GAUGE, SUM, HISTOGRAM };

struct set { /* points of one row while they are written */
	struct buffer *out;
	const struct snapshot *s;
	const struct row *row;
	uint32_t from, to; /* range of ranks */
	uint32_t points;
	bool open;
};

struct row {
	const char *name, *unit, *description;
	enum kind kind;
	void (*job)(struct set *m, const struct job_view *j);
	void (*rank)(struct set *m, const struct rank_view *r);
	void (*loop)(struct set *m, const struct rank_view *r, const struct loop_view *l);
};

/* ---- points ---------------------------------------------------------------------------------- */

static void metric_open(struct set *m)
{
	static const char *const field[] = {
		[GAUGE] = "gauge", [SUM] = "sum", [HISTOGRAM] = "histogram"};
	const struct row *r = m->row;

	json_open(m->out, NULL, '{');
	json_string(m->out, "name", r->name);
	json_string(m->out, "unit", r->unit);
	json_string(m->out, "description", r->description);
	json_open(m->out, field[r->kind], '{');
	if (r->kind != GAUGE)
		json_uint(m->out, "aggregationTemporality", CUMULATIVE);
	if (r->kind == SUM)
		json_bool(m->out, "isMonotonic", true);
	json_open(m->out, "dataPoints", '[');
	m->open = true;
}

static void otlp_metric_point_open(struct set *m, int64_t since_ns)
{
	if (!m->open)
		metric_open(m);
	json_open(m->out, NULL, '{');
	if (m->row->kind != GAUGE && since_ns > 0)
		otlp_uint64(m->out, "startTimeUnixNano", (uint64_t)since_ns);
	otlp_uint64(m->out, "timeUnixNano", m->s->real_ns > 0 ? (uint64_t)m->s->real_ns : 0);
	json_open(m->out, "attributes", '[');
	m->points++;
}

static void otlp_metric_of_job(struct set *m, const struct job_view *j)
{
	char room[EXPORT_JOB_ROOM];

	otlp_metric_point_open(m, j->since_real_ns);
	otlp_text(m->out, "gpbpf.job", export_job_name(j, room));
	otlp_text(m->out, "gpbpf.job.uid", j->uid);
}

static void otlp_metric_of_rank(struct set *m, const struct rank_view *r)
{
	otlp_metric_point_open(m, r->since_real_ns);
	otlp_text(m->out, "gpbpf.job", r->job);
	if (r->rank >= 0)
		otlp_int(m->out, "gpbpf.rank", r->rank);
	otlp_int(m->out, "process.pid", r->pid);
}

static void otlp_metric_of_loop(struct set *m, const struct rank_view *r, const struct loop_view *l)
{
	otlp_metric_of_rank(m, r);
	if (l->state.loop)
		otlp_int(m->out, "gpbpf.loop", l->state.loop);
}

static void otlp_metric_value_uint(struct set *m, uint64_t value)
{
	json_close(m->out, ']');
	otlp_uint64(m->out, "asInt", value);
	json_close(m->out, '}');
}

static void otlp_metric_value_real(struct set *m, double value)
{
	json_close(m->out, ']');
	json_double(m->out, "asDouble", value);
	json_close(m->out, '}');
}

static void otlp_metric_value_ns(struct set *m, uint64_t ns)
{
	otlp_metric_value_real(m, (double)ns / NS_PER_S);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static uint64_t otlp_metric_observed_ns(const struct ledger_view *l)
{
	return ledger_elapsed(l) - l->ns[BUCKET_UNOBSERVED];
}

static void otlp_metric_job_goodput_ratio(struct set *m, const struct job_view *j)
{
	uint64_t ns = otlp_metric_observed_ns(&j->ledger);

	if (!ns)
		return;
	otlp_metric_of_job(m, j);
	otlp_metric_value_real(m, (double)j->ledger.ns[BUCKET_GOODPUT] / (double)ns);
}

static void otlp_metric_job_time(struct set *m, const struct job_view *j)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t i = 0; (name = ledger_part(&j->ledger, &m->s->types, i, room, &ns)); i++) {
		if (!ns)
			continue;
		otlp_metric_of_job(m, j);
		otlp_text(m->out, "gpbpf.bucket", name);
		otlp_metric_value_ns(m, ns);
	}
}

static void otlp_metric_job_elapsed(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_ns(m, ledger_elapsed(&j->ledger));
}

static void otlp_metric_job_productive(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_ns(m, j->ledger.productive_gross_ns);
}

static void otlp_metric_job_wasted(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_ns(m, j->wasted_gross_ns);
}

/* Includes disruptions whose cause was not kept, so that the sum is right; excludes one whose cause
 * may still change. */
static void otlp_metric_job_disruptions(struct set *m, const struct job_view *j)
{
	uint64_t left = j->ledger.disruptions - j->unsettled;

	for (uint32_t i = 0; i < j->ncauses && i < JOB_CAUSES; i++) {
		otlp_metric_of_job(m, j);
		otlp_text(m->out, "gpbpf.cause", disruption_cause_name[j->causes[i].cause]);
		otlp_metric_value_uint(m, j->causes[i].count);
		left -= j->causes[i].count < left ? j->causes[i].count : left;
	}
	otlp_metric_of_job(m, j);
	otlp_text(m->out, "gpbpf.cause", "other");
	otlp_metric_value_uint(m, left);
}

static void otlp_metric_job_runs(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_uint(m, j->runs);
}

static void otlp_metric_job_step_number(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_uint(m, j->last_step);
}

static void otlp_metric_job_secured_time(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_metric_value_ns(m, j->secured_ns);
}

static void otlp_metric_job_state_is(struct set *m, const struct job_view *j)
{
	otlp_metric_of_job(m, j);
	otlp_text(m->out, "gpbpf.state", job_state_name[j->state]);
	otlp_metric_value_uint(m, 1);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void otlp_metric_rank_goodput_ratio(struct set *m, const struct rank_view *r)
{
	uint64_t ns = otlp_metric_observed_ns(&r->ledger);

	if (!ns)
		return;
	otlp_metric_of_rank(m, r);
	otlp_metric_value_real(m, (double)r->ledger.ns[BUCKET_GOODPUT] / (double)ns);
}

static void otlp_metric_rank_time(struct set *m, const struct rank_view *r)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t i = 0; (name = ledger_part(&r->ledger, &m->s->types, i, room, &ns)); i++) {
		if (!ns)
			continue;
		otlp_metric_of_rank(m, r);
		otlp_text(m->out, "gpbpf.bucket", name);
		otlp_metric_value_ns(m, ns);
	}
}

static void otlp_metric_rank_productive(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_metric_value_ns(m, r->ledger.productive_gross_ns);
}

static void otlp_metric_rank_checkpoints(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_text(m->out, "gpbpf.op", "save");
	otlp_metric_value_uint(m, r->checkpoints);
	otlp_metric_of_rank(m, r);
	otlp_text(m->out, "gpbpf.op", "restore");
	otlp_metric_value_uint(m, r->restores);
}

static void otlp_metric_rank_save_time(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_metric_value_ns(m, r->checkpoint_save_ns);
}

static void otlp_metric_rank_hung(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_metric_value_uint(m, r->hang.hung);
}

static void otlp_metric_rank_hangs(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_metric_value_uint(m, r->hang.count);
}

static void otlp_metric_rank_overhead(struct set *m, const struct rank_view *r)
{
	otlp_metric_of_rank(m, r);
	otlp_metric_value_ns(m, r->overhead.sum.all_ns);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool otlp_metric_loop_known(const struct loop_view *l)
{
	return l->state.unit == UNIT_STEP && l->state.confidence >= STEP_CONFIDENCE &&
	       l->time.count;
}

static void otlp_metric_loop_steps(struct set *m, const struct rank_view *r,
				   const struct loop_view *l)
{
	if (l->state.unit != UNIT_STEP)
		return;
	otlp_metric_of_loop(m, r, l);
	otlp_metric_value_uint(m, l->state.steps);
}

static void otlp_metric_loop_duration(struct set *m, const struct rank_view *r,
				      const struct loop_view *l)
{
	const struct deviation_view *t = &l->time;
	uint64_t count = 0;
	char text[24];

	if (!otlp_metric_loop_known(l))
		return;
	otlp_metric_of_loop(m, r, l);
	json_close(m->out, ']');
	json_open(m->out, "bucketCounts", '[');
	for (int i = 0; i <= DEVIATION_BOUNDS; i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)t->bucket[i]);
		json_string(m->out, NULL, text);
		count += t->bucket[i];
	}
	json_close(m->out, ']');
	json_open(m->out, "explicitBounds", '[');
	for (int i = 0; i < DEVIATION_BOUNDS; i++)
		json_double(m->out, NULL, (double)deviation_bound_ns[i] / NS_PER_S);
	json_close(m->out, ']');
	otlp_uint64(m->out, "count", count);
	json_double(m->out, "sum", (double)t->sum_ns / NS_PER_S);
	json_double(m->out, "max", (double)t->max_ns / NS_PER_S);
	json_close(m->out, '}');
}

static void otlp_metric_loop_ideal(struct set *m, const struct rank_view *r,
				   const struct loop_view *l)
{
	if (!otlp_metric_loop_known(l) || !l->time.ideal_ns)
		return;
	otlp_metric_of_loop(m, r, l);
	otlp_metric_value_ns(m, l->time.ideal_ns);
}

static void otlp_metric_loop_phases(struct set *m, const struct rank_view *r,
				    const struct loop_view *l)
{
	for (int i = 0; i < PHASE_COUNT; i++) {
		if (!(l->phases_known & 1u << i))
			continue;
		otlp_metric_of_loop(m, r, l);
		otlp_text(m->out, "gpbpf.phase", phase_name[i]);
		otlp_metric_value_ns(m, l->phase_ns[i]);
	}
	if (!l->device_known)
		return;
	otlp_metric_of_loop(m, r, l);
	otlp_text(m->out, "gpbpf.phase", "host");
	otlp_metric_value_ns(m, l->host_ns);
}

static const struct row rows[] = {
	{"gpbpf.job.goodput", "1",
	 "Share of a job's observed time that became progress which counts.", GAUGE,
	 .job = otlp_metric_job_goodput_ratio},
	{"gpbpf.job.time", "s",
	 "Where the time of a job went, over all its runs; buckets add up to elapsed.", GAUGE,
	 .job = otlp_metric_job_time},
	{"gpbpf.job.elapsed", "s", "Time since a job began, or until it ended.", GAUGE,
	 .job = otlp_metric_job_elapsed},
	{"gpbpf.job.productive", "s",
	 "Time ever booked as progress of a job; what a restart disproves is not taken back here.",
	 SUM, .job = otlp_metric_job_productive},
	{"gpbpf.job.wasted", "s", "Progress that restarts have disproved.", SUM,
	 .job = otlp_metric_job_wasted},
	{"gpbpf.job.secured", "s", "Progress of a job that a whole checkpoint covers.", GAUGE,
	 .job = otlp_metric_job_secured_time},
	{"gpbpf.job.disruptions", "{disruption}",
	 "Events that interrupted a job, however many ranks fell.", SUM,
	 .job = otlp_metric_job_disruptions},
	{"gpbpf.job.runs", "{run}", "Runs of a job: its start, and each restart.", SUM,
	 .job = otlp_metric_job_runs},
	{"gpbpf.job.step", "{step}", "Number of the newest step that counts.", GAUGE,
	 .job = otlp_metric_job_step_number},
	{"gpbpf.job.state", "1", "1 for the state a job is in: running, down, over, ended.", GAUGE,
	 .job = otlp_metric_job_state_is},
	{"gpbpf.rank.goodput", "1",
	 "Share of a rank's observed time that became training progress.", GAUGE,
	 .rank = otlp_metric_rank_goodput_ratio},
	{"gpbpf.rank.time", "s", "Where the time of a rank went; its buckets add up to its life.",
	 GAUGE, .rank = otlp_metric_rank_time},
	{"gpbpf.rank.productive", "s",
	 "Time ever booked as training progress; what a restart disproves is not taken back here.",
	 SUM, .rank = otlp_metric_rank_productive},
	{"gpbpf.rank.checkpoints", "{checkpoint}", "Checkpoints written and read.", SUM,
	 .rank = otlp_metric_rank_checkpoints},
	{"gpbpf.rank.checkpoint.save.time", "s", "Time spent writing checkpoints.", SUM,
	 .rank = otlp_metric_rank_save_time},
	{"gpbpf.rank.hung", "1", "1 while a rank hangs, else 0.", GAUGE,
	 .rank = otlp_metric_rank_hung},
	{"gpbpf.rank.hangs", "{hang}", "Hangs.", SUM, .rank = otlp_metric_rank_hangs},
	{"gpbpf.rank.overhead", "s", "Estimated price of observing.", SUM,
	 .rank = otlp_metric_rank_overhead},
	{"gpbpf.steps", "{step}", "Training steps observed.", SUM, .loop = otlp_metric_loop_steps},
	{"gpbpf.step.duration", "s", "Time of a training step, of those whose time is certain.",
	 HISTOGRAM, .loop = otlp_metric_loop_duration},
	{"gpbpf.step.ideal", "s", "Mean of the steps no slower than the median plus three MAD.",
	 GAUGE, .loop = otlp_metric_loop_ideal},
	{"gpbpf.step.phase.time", "s",
	 "Host time inside steps, by phase; host: neither blocked nor compiling.", SUM,
	 .loop = otlp_metric_loop_phases},
};

/* ---- all ------------------------------------------------------------------------------------- */

static bool otlp_metric_long_over(const struct set *m, const struct ledger_view *l, bool ended)
{
	return ended && m->s->mono_ns > l->now_ns && m->s->mono_ns - l->now_ns > OTLP_GRACE_NS;
}

static void otlp_metric_row_points(struct set *m)
{
	const struct row *row = m->row;

	for (uint32_t i = 0; row->job && !m->from && i < m->s->njobs; i++)
		if (m->s->jobs[i].reported_here &&
		    !otlp_metric_long_over(m, &m->s->jobs[i].ledger, m->s->jobs[i].ledger.ended))
			row->job(m, &m->s->jobs[i]);
	for (uint32_t i = m->from; i < m->to; i++) {
		const struct rank_view *r = &m->s->ranks[i];

		if (!r->trainer || otlp_metric_long_over(m, &r->ledger, !r->alive))
			continue;
		if (row->rank)
			row->rank(m, r);
		for (uint32_t k = 0; row->loop && k < r->nloops; k++)
			row->loop(m, r, &r->loops[k]);
	}
}

uint32_t otlp_metrics(struct buffer *out, const struct snapshot *s, uint32_t *at)
{
	struct set m = {.out = out, .s = s, .from = *at, .to = *at + OTLP_METRIC_RANKS};

	if (m.to > s->nranks)
		m.to = s->nranks;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		m.row = &rows[i];
		m.open = false;
		otlp_metric_row_points(&m);
		if (!m.open)
			continue;
		json_close(out, ']');
		json_close(out, '}');
		json_close(out, '}');
	}
	*at = m.to < s->nranks ? m.to : 0;
	return m.points;
}
