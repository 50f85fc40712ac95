/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the table of measures, and the functions that read each from a snapshot. An unknown
 * value gives no point, so that readers can distinguish 0 from "unknown". */
#include "userspace/export/measure/measure.h"

#include <string.h>

#include "userspace/model/time/hang.h"

#define NS_PER_S 1e9

/* ---- points ---------------------------------------------------------------------------------- */

static void measure_count_of(struct measure_put *m, const char *label, uint64_t count)
{
	m->point(m->ctx, m, &(struct measure_point){.label = label, .count = count});
}

static void measure_count(struct measure_put *m, uint64_t count)
{
	measure_count_of(m, NULL, count);
}

static void measure_real(struct measure_put *m, double real)
{
	m->point(m->ctx, m, &(struct measure_point){.real = real});
}

static void measure_buckets(struct measure_put *m, const struct ledger_view *l)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (uint32_t i = 0; (name = ledger_part(l, m->types, i, room, &ns)); i++)
		measure_count_of(m, name, ns);
}

static void measure_goodput(struct measure_put *m, const struct ledger_view *l)
{
	uint64_t observed_ns = ledger_elapsed(l) - l->ns[BUCKET_UNOBSERVED];

	if (observed_ns)
		measure_real(m, (double)l->ns[BUCKET_GOODPUT] / (double)observed_ns);
}

/* ---- jobs, over all their runs --------------------------------------------------------------- */

static void measure_job_time(struct measure_put *m)
{
	measure_buckets(m, &m->job->ledger);
}

static void measure_job_elapsed(struct measure_put *m)
{
	measure_count(m, ledger_elapsed(&m->job->ledger));
}

static void measure_job_goodput(struct measure_put *m)
{
	measure_goodput(m, &m->job->ledger);
}

static void measure_job_productive(struct measure_put *m)
{
	measure_count(m, m->job->ledger.productive_gross_ns);
}

static void measure_job_wasted(struct measure_put *m)
{
	measure_count(m, m->job->wasted_gross_ns);
}

static void measure_job_secured(struct measure_put *m)
{
	measure_count(m, m->job->secured_ns);
}

/* Counts disruptions by cause; "other" has those whose cause is unknown on this node, so that the
 * sum is the number of disruptions. Disruptions whose cause may still change are not counted yet.
 */
static void measure_job_disruptions(struct measure_put *m)
{
	const struct job_view *j = m->job;
	uint64_t left = j->ledger.disruptions - j->unsettled;

	for (uint32_t i = 0; i < j->ncauses && i < JOB_CAUSES; i++) {
		measure_count_of(m, disruption_cause_name[j->causes[i].cause], j->causes[i].count);
		left -= j->causes[i].count < left ? j->causes[i].count : left;
	}
	measure_count_of(m, "other", left);
}

static void measure_job_runs(struct measure_put *m)
{
	measure_count(m, m->job->runs);
}

static void measure_job_steps(struct measure_put *m)
{
	measure_count(m, m->job->ledger.steps);
}

static void measure_job_step(struct measure_put *m)
{
	measure_count(m, m->job->last_step);
}

static void measure_job_state(struct measure_put *m)
{
	for (int i = JOB_RUNNING; i <= JOB_ENDED; i++)
		measure_count_of(m, job_state_name[i], i == (int)m->job->state);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void measure_rank_time(struct measure_put *m)
{
	measure_buckets(m, &m->rank->ledger);
}

static void measure_rank_goodput(struct measure_put *m)
{
	if (m->rank->trainer)
		measure_goodput(m, &m->rank->ledger);
}

static void measure_rank_productive(struct measure_put *m)
{
	measure_count(m, m->rank->ledger.productive_gross_ns);
}

static void measure_rank_checkpoints(struct measure_put *m)
{
	measure_count_of(m, "save", m->rank->checkpoints);
	measure_count_of(m, "restore", m->rank->restores);
}

static void measure_rank_save_time(struct measure_put *m)
{
	measure_count(m, m->rank->checkpoint_save_ns);
}

static void measure_rank_causes(struct measure_put *m)
{
	for (int i = 0; i < TIME_CAUSE_COUNT; i++)
		measure_count_of(m, time_cause_name[i], m->rank->cause_ns[i]);
}

static void measure_rank_long_steps(struct measure_put *m)
{
	for (int i = 0; i < TIME_CAUSE_COUNT; i++)
		measure_count_of(m, time_cause_name[i], m->rank->long_steps.ns[i]);
}

static void measure_rank_hung(struct measure_put *m)
{
	const struct rank_view *r = m->rank;
	bool hung = r->alive && r->hang.hung;

	if (r->trainer)
		measure_count_of(m, hung ? hang_why_name[r->hang.why] : NULL, hung);
}

static void measure_rank_hangs(struct measure_put *m)
{
	if (m->rank->trainer)
		measure_count(m, m->rank->hang.count);
}

/* Adds no point for ranks that cannot be compared with others. */
static void measure_rank_straggler(struct measure_put *m)
{
	const struct rank_view *r = m->rank;
	bool now = r->alive && r->straggle.now;

	if (r->straggle.count || (r->world_size > 1 && r->nloops && r->loops[0].device_known))
		measure_count_of(m, now ? r->straggle.phase : NULL, now);
}

static void measure_rank_overhead(struct measure_put *m)
{
	const struct overhead_sum *o = &m->rank->overhead.sum;

	measure_count_of(m, "marker", o->marker_ns);
	measure_count_of(m, "other", o->all_ns - o->marker_ns);
}

/* ---- training loops -------------------------------------------------------------------------- */

bool measure_loop_known(const struct loop_view *l)
{
	return l->state.unit == UNIT_STEP && l->state.confidence >= STEP_CONFIDENCE &&
	       l->time.count;
}

static void measure_loop_state(struct measure_put *m)
{
	for (int i = STATE_IDLE; i <= STATE_ENDED; i++)
		measure_count_of(m, step_state_name[i], i == (int)m->loop->state.state);
}

static void measure_loop_steps(struct measure_put *m)
{
	if (m->loop->state.unit == UNIT_STEP)
		measure_count(m, m->loop->state.steps);
}

static void measure_loop_times(struct measure_put *m)
{
	if (measure_loop_known(m->loop))
		m->point(m->ctx, m, &(struct measure_point){.times = &m->loop->time});
}

static void measure_loop_ideal(struct measure_put *m)
{
	if (measure_loop_known(m->loop) && m->loop->time.ideal_ns)
		measure_count(m, m->loop->time.ideal_ns);
}

static void measure_loop_deviation(struct measure_put *m)
{
	if (measure_loop_known(m->loop) && m->loop->time.ideal_ns)
		measure_real(m, m->loop->time.deviation_ns / NS_PER_S);
}

static void measure_loop_phases(struct measure_put *m)
{
	const struct loop_view *l = m->loop;

	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i))
			measure_count_of(m, phase_name[i], l->phase_ns[i]);
	if (l->device_known)
		measure_count_of(m, "host", l->host_ns);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define NUMBER	"1"
#define SECONDS "s"

static const struct measure measures[] = {
	{.id = "job.time",
	 .prometheus = "gpbpf_job_time_seconds",
	 .gcm = "job/badput_time",
	 .title = "Badput",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_NS,
	 .unit = SECONDS,
	 .label = "bucket",
	 .label_help = "Bucket of the time, as the goodput library names it.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "Time of a job by bucket, over all its runs; the buckets add up to elapsed time; an absent bucket is 0.",
	 .put = measure_job_time},
	{.id = "job.elapsed",
	 .prometheus = "gpbpf_job_elapsed_seconds",
	 .gcm = "job/elapsed_time",
	 .title = "Elapsed time",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_NS,
	 .unit = SECONDS,
	 .help = "Time since a job began, or until it ended.",
	 .put = measure_job_elapsed},
	{.id = "job.goodput",
	 .prometheus = "gpbpf_job_goodput_ratio",
	 .gcm = "job/goodput_ratio",
	 .title = "Goodput ratio",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_REAL,
	 .unit = NUMBER,
	 .help = "Share of a job's observed time that became progress, without progress that a restart disproved.",
	 .put = measure_job_goodput},
	{.id = "job.productive",
	 .prometheus = "gpbpf_job_productive_seconds_total",
	 .gcm = "job/productive_time",
	 .title = "Productive time",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .help = "Time ever booked as progress of a job, including progress that a restart later disproved.",
	 .put = measure_job_productive},
	{.id = "job.wasted",
	 .prometheus = "gpbpf_job_wasted_seconds_total",
	 .gcm = "job/wasted_time",
	 .title = "Wasted time",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .help = "Progress of a job that was lost, because restarts did not continue from it.",
	 .put = measure_job_wasted},
	{.id = "job.secured",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_NS,
	 .unit = SECONDS,
	 .help = "Progress of a job that a whole checkpoint covers.",
	 .put = measure_job_secured},
	{.id = "job.disruptions",
	 .prometheus = "gpbpf_job_disruptions_total",
	 .gcm = "job/disruption_count",
	 .title = "Disruptions",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{disruption}",
	 .label = "cause",
	 .label_help =
		 "How the first failed rank ended: killed, crashed, oom, ...; other: known only to another node.",
	 .help = "Disruptions of a job (events that interrupted it, however many ranks failed), counted once their cause is certain.",
	 .put = measure_job_disruptions},
	{.id = "job.runs",
	 .prometheus = "gpbpf_job_runs_total",
	 .gcm = "job/run_count",
	 .title = "Runs",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{run}",
	 .help = "Runs of a job: its start, and each restart.",
	 .put = measure_job_runs},
	{.id = "job.steps",
	 .gcm = "job/step_count",
	 .title = "Steps",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{step}",
	 .help = "Training steps that a job made, repeated ones included.",
	 .put = measure_job_steps},
	{.id = "job.step",
	 .prometheus = "gpbpf_job_step_number",
	 .gcm = "job/step_number",
	 .title = "Step",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_COUNT,
	 .unit = "{step}",
	 .help = "Number of the newest step of a job.",
	 .put = measure_job_step},
	{.id = "job.state",
	 .prometheus = "gpbpf_job_state",
	 .gcm = "job/state",
	 .title = "State of the job",
	 .owner = MEASURE_JOB,
	 .type = MEASURE_YES,
	 .unit = NUMBER,
	 .label = "state",
	 .label_help = "running, down, over or ended.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "1 for the current state of a job: running, down, over, ended.",
	 .put = measure_job_state},
	{.id = "rank.time",
	 .prometheus = "gpbpf_time_seconds",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .unit = SECONDS,
	 .label = "bucket",
	 .label_help = "Bucket of the time, as the goodput library names it.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "Time of a process by bucket; the buckets add up to the process's age, or life if it has ended; an absent bucket is 0.",
	 .put = measure_rank_time},
	{.id = "rank.goodput",
	 .prometheus = "gpbpf_goodput_ratio",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_REAL,
	 .unit = NUMBER,
	 .job_has_it = true,
	 .help = "Share of a process's observed time that became training progress; on a Prometheus page only for processes whose job has no series (else see gpbpf_job_goodput_ratio).",
	 .put = measure_rank_goodput},
	{.id = "rank.productive",
	 .prometheus = "gpbpf_productive_seconds_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .help = "Time ever booked as training progress, including progress that a restart later disproved.",
	 .put = measure_rank_productive},
	{.id = "rank.checkpoints",
	 .prometheus = "gpbpf_checkpoints_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{checkpoint}",
	 .label = "op",
	 .label_help = "save or restore.",
	 .help = "Checkpoints written and read.",
	 .put = measure_rank_checkpoints},
	{.id = "rank.checkpoint.save.time",
	 .prometheus = "gpbpf_checkpoint_save_seconds_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .help = "Time spent writing checkpoints.",
	 .put = measure_rank_save_time},
	{.id = "rank.hung",
	 .prometheus = "gpbpf_rank_hung",
	 .gcm = "rank/hung",
	 .title = "Hung",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_YES,
	 .unit = NUMBER,
	 .label = "why",
	 .label_help = "collective, stopped, input...",
	 .rule = MEASURE_LABEL_CHANGES,
	 .help = "1 while a rank hangs; why: collective, stopped, input...",
	 .put = measure_rank_hung},
	{.id = "rank.hangs",
	 .prometheus = "gpbpf_hangs_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{hang}",
	 .help = "Hangs.",
	 .put = measure_rank_hangs},
	{.id = "rank.cause.time",
	 .prometheus = "gpbpf_rank_cause_seconds_total",
	 .gcm = "rank/cause_time",
	 .title = "Time lost to slowdowns",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .label = "cause",
	 .label_help =
		 "cpu_contention, cpu_throttled, memory_pressure, disk, loader_cpu, loader_io, network, "
		 "garbage_collection, own_code, device_throttled, device_error, interpreter_lock, "
		 "straggler, checkpoint, frequency, kernel, lock, pipe, child, unknown.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "Time that lasting slowdowns cost a rank, by cause; unknown: no cause explains it.",
	 .put = measure_rank_causes},
	{.id = "rank.long_step_causes",
	 .prometheus = "gpbpf_rank_long_step_seconds_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .label = "cause",
	 .label_help = "As in gpbpf_rank_cause_seconds_total.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "Time that single steps of more than twice the p99 took beyond the ideal step while the loop was not slow, by cause.",
	 .put = measure_rank_long_steps},
	{.id = "rank.straggler",
	 .prometheus = "gpbpf_straggler",
	 .gcm = "rank/straggler",
	 .title = "Straggler",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_YES,
	 .unit = NUMBER,
	 .label = "phase",
	 .label_help = "The phase that takes longer in this rank than in the others.",
	 .rule = MEASURE_LABEL_CHANGES,
	 .help = "1 while the other ranks of this node wait for this rank in most steps; phase: the one that takes longer in this rank than in the others.",
	 .put = measure_rank_straggler},
	{.id = "rank.overhead",
	 .prometheus = "gpbpf_overhead_seconds_total",
	 .owner = MEASURE_RANK,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .label = "part",
	 .label_help = "marker or other.",
	 .help = "Estimated cost of observing: hits multiplied by the cost of an empty hit, measured at start; part: marker (probes that find steps) or other.",
	 .put = measure_rank_overhead},
	{.id = "loop.state",
	 .prometheus = "gpbpf_rank_state",
	 .gcm = "rank/state",
	 .title = "State of a loop",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_YES,
	 .unit = NUMBER,
	 .label = "state",
	 .label_help = "idle, starting, learning, locked, suspect or ended.",
	 .rule = MEASURE_LABEL_SPARSE,
	 .help = "1 for the current state of a training loop (other states are absent): idle, starting, learning, locked, suspect, ended.",
	 .put = measure_loop_state},
	{.id = "steps",
	 .prometheus = "gpbpf_steps_total",
	 .gcm = "rank/step_count",
	 .title = "Steps of a rank",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_COUNT,
	 .counter = true,
	 .unit = "{step}",
	 .help = "Training steps observed.",
	 .put = measure_loop_steps},
	{.id = "step.duration",
	 .gcm = "rank/step_time",
	 .title = "Step time",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_TIMES,
	 .counter = true,
	 .unit = SECONDS,
	 .help = "Times of training steps; only of loops whose steps are certain (confidence of 0.7 or more).",
	 .put = measure_loop_times},
	{.id = "step.ideal",
	 .prometheus = "gpbpf_step_ideal_seconds",
	 .gcm = "rank/ideal_step_time",
	 .title = "Ideal step time",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_NS,
	 .unit = SECONDS,
	 .help = "Mean time of the last 1,024 steps that are not slower than the median plus three MAD (median absolute deviations).",
	 .put = measure_loop_ideal},
	{.id = "step.deviation",
	 .prometheus = "gpbpf_step_deviation_seconds",
	 .gcm = "rank/step_deviation",
	 .title = "Step deviation",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_REAL,
	 .unit = SECONDS,
	 .help = "Mean distance of the last 128 steps from the ideal step.",
	 .put = measure_loop_deviation},
	{.id = "step.phase.time",
	 .prometheus = "gpbpf_step_phase_seconds_total",
	 .gcm = "rank/phase_time",
	 .title = "Time by phase",
	 .owner = MEASURE_LOOP,
	 .type = MEASURE_NS,
	 .counter = true,
	 .unit = SECONDS,
	 .label = "phase",
	 .label_help =
		 "data, forward, backward, collective, ...; host: neither blocked nor compiling.",
	 .help = "Host time inside steps, by phase; host: neither blocked nor compiling.",
	 .put = measure_loop_phases},
};

const struct measure *measure_at(size_t i)
{
	return i < sizeof(measures) / sizeof(measures[0]) ? &measures[i] : NULL;
}

const struct measure *measure_of_prometheus(const char *name)
{
	const struct measure *m;

	for (size_t i = 0; (m = measure_at(i)); i++)
		if (m->prometheus && !strcmp(m->prometheus, name))
			return m;
	return NULL;
}
