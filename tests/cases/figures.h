/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - what a case may ask for: what the facts said, and what a snapshot shows. */
#ifndef TESTS_CASES_FIGURES_H
#define TESTS_CASES_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/cases/script.h"
#include "userspace/base/buffer.h"
#include "userspace/model/time/hang.h"
#include "userspace/model/model.h"

struct seen { /* what the facts said last */
	struct buffer text;
	uint64_t count[FACT_TYPES], evaluations, gaps, helper;
	struct fact_step step;
	struct fact_checkpoint checkpoint;
	struct checkpoint_match match; /* of the last that was recognised */
	struct fact_range range;
	struct job_disruption disruption;
	struct fact_health health;
	struct time_causes causes; /* of it */
	char file[GP_PATH_MAX], cause[24], why[24], phase[16], evidence[320], kind[24], name[64];
	uint64_t end_ns[SCRIPT_PIDS][16], number[SCRIPT_PIDS][16];
	uint64_t span_ns[SCRIPT_PIDS]; /* start of the last one told */
	char error[160];
};

struct run {
	const char *path;
	struct model *model;
	struct seen seen;
	bool look;
	uint64_t gross_ns[SCRIPT_PIDS], job_gross_ns[SCRIPT_PIDS], wasted_ns[SCRIPT_PIDS],
		job_steps[SCRIPT_PIDS];
};

struct figure { /* of one process; loop: the one meant */
	const struct run *run;
	const struct snapshot *snap;
	const struct rank_view *rank;
	const struct loop_view *loop;
	const struct job_view *job;
};

/* Words of .case files for buckets where they are not those of LEDGER_BUCKETS. */
static const struct {
	const char *name;
	enum bucket bucket;
} bucket_words[] = {
	{"initialization", BUCKET_ACCELERATOR_INIT},
	{"preparation", BUCKET_TRAINING_PREP},
	{"data_loading", BUCKET_DATA_LOADING},
	{"checkpoint_save", BUCKET_CHECKPOINT_SAVE},
	{"checkpoint_restore", BUCKET_CHECKPOINT_RESTORE},
	{"evaluation", BUCKET_EVAL},
	{"unobserved", BUCKET_UNOBSERVED},
	{"recovered", BUCKET_RECOVERY},
	{"excluded", BUCKET_EXCLUDED},
};

static bool figure_bucket(const struct ledger_view *l, const char *key, uint64_t *ret)
{
	for (size_t i = 0; i < sizeof(bucket_words) / sizeof(bucket_words[0]); i++) {
		if (!strcmp(bucket_words[i].name, key)) {
			*ret = l->ns[bucket_words[i].bucket];
			return true;
		}
	}
	for (int b = 0; b < BUCKET_COUNT; b++) {
		if (!strcmp(bucket_word[b], key)) {
			*ret = l->ns[b];
			return true;
		}
	}
	return false;
}

/* custom.TYPE */
static bool figure_type(const struct figure *f, const struct ledger_view *l, const char *key,
			uint64_t *ret)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	if (strncmp(key, "custom.", 7) != 0)
		return false;
	*ret = 0;
	for (uint32_t i = 0; (name = ledger_part(l, &f->snap->types, i, room, &ns)); i++) {
		if (!strncmp(name, "CUSTOM_BADPUT_EVENTS.", 21) && !strcmp(name + 21, key + 7))
			*ret = ns;
	}
	return true;
}

/* range.NAME: what the job's own range took of the steps */
static bool figure_range(const struct loop_view *l, const char *key, uint64_t *ret)
{
	if (strncmp(key, "range.", 6) != 0)
		return false;
	*ret = 0;
	for (uint32_t i = 0; i < l->ranges.nparts; i++) {
		if (!strcmp(l->ranges.part[i].name, key + 6))
			*ret = l->ranges.part[i].ns;
	}
	return true;
}

static bool figure_fact(const struct figure *f, const char *key, uint64_t *ret)
{
	const struct seen *s = &f->run->seen;
	const struct {
		const char *key;
		uint64_t value;
	} table[] = {
		{"step_facts", s->count[FACT_STEP]},
		{"rank_facts", s->count[FACT_RANK]},
		{"ledger_facts", s->count[FACT_LEDGER]},
		{"loss_facts", s->count[FACT_LOSS]},
		{"evaluations", s->evaluations},
		{"gaps", s->gaps},
		{"ranges_aside", s->helper},
		{"evaluation_time", s->range.end_ns - s->range.start_ns},
		{"checkpoint_facts", s->count[FACT_CHECKPOINT]},
		{"checkpoint_step", s->checkpoint.step},
		{"checkpoint_files", s->checkpoint.files},
		{"checkpoint_step", s->checkpoint.step},
		{"checkpoint_estimated", s->checkpoint.estimated},
		{"checkpoint_bytes", s->checkpoint.bytes},
		{"saved_step", s->match.step},
		{"checkpoint_closed", s->checkpoint.closed},
		{"checkpoint_async", s->checkpoint.async},
		{"checkpoint_time", s->checkpoint.end_ns - s->checkpoint.start_ns},
		{"disruption_signal", (uint64_t)s->disruption.why.signal},
		{"disruption_sender", s->disruption.why.sender},
		{"disruption_exit", (uint64_t)s->disruption.why.exit_code},
		{"disruption_step", (uint64_t)s->disruption.d.step},
		{"health_facts", s->count[FACT_HEALTH]},
		{"monitor_facts", s->count[FACT_MONITOR]},
		{"health_size", s->health.size_ns},
		{"health_over", s->health.over},
		{"explained", s->causes.lost_ns - s->causes.ns[TIME_CAUSE_unknown]},
		{"health_code", (uint64_t)s->health.code},
		{"health_step", s->health.step},
		{"last", s->step.step.end_ns - s->step.step.start_ns},
		{"micro_batches", s->step.step.micro_batches},
		{"ranks", f->snap->nranks},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].key, key)) {
			*ret = table[i].value;
			return true;
		}
	}
	return false;
}

/* long_steps: number of long steps; long_lost: time lost by them; long_CAUSE: its part. */
static bool figure_long(const struct long_steps_view *l, const char *key, uint64_t *ret)
{
	if (strncmp(key, "long_", 5) != 0)
		return false;
	key += 5;
	*ret = !strcmp(key, "steps") ? l->count : l->lost_ns;
	for (int i = 0; i < TIME_CAUSE_COUNT; i++) {
		if (!strcmp(key, time_cause_name[i])) {
			*ret = l->ns[i];
			return true;
		}
	}
	return !strcmp(key, "steps") || !strcmp(key, "lost");
}

/* badput_BUCKET_examined: examined time of a bucket (by its word in LEDGER_BUCKETS);
 * badput_BUCKET_CAUSE: the part that a cause explains. *ret_line: the line; NULL: not asked for. */
static bool figure_badput(const struct rank_view *r, const char *key, uint64_t *ret,
			  const char **ret_line)
{
	for (const struct badput_view *b = r->badput; b < r->badput + RANK_BADPUT; b++) {
		char prefix[48];
		size_t len = (size_t)snprintf(prefix, sizeof(prefix), "badput_%s_",
					      bucket_word[b->bucket]);

		if (!b->examined_ns || strncmp(key, prefix, len) != 0)
			continue;
		*ret = b->examined_ns;
		if (ret_line)
			*ret_line = b->most.line;
		for (int i = 0; i < TIME_CAUSE_COUNT; i++) {
			if (!strcmp(key + len, time_cause_name[i])) {
				*ret = b->ns[i];
				return true;
			}
		}
		return !strcmp(key + len, ret_line ? "line" : "examined");
	}
	*ret = 0;
	return !strncmp(key, "badput_", 7);
}

/* lacked_wait, lacked_throttled: waits for a CPU in the last minute. */
static bool figure_lacked(const struct resource_sums *s, const char *key, uint64_t *ret)
{
	*ret = !strcmp(key, "lacked_wait") ? s->wait_ns : s->throttled_ns;
	return !strcmp(key, "lacked_wait") || !strcmp(key, "lacked_throttled");
}

static bool figure_rank(const struct figure *f, const char *key, uint64_t *ret)
{
	static const struct loop_view none;
	const struct rank_view *r = f->rank;
	const struct loop_view *l = f->loop ? f->loop : &none;
	const struct {
		const char *key;
		uint64_t value;
	} table[] = {
		{"elapsed", ledger_elapsed(&r->ledger)},
		{"unsettled", r->ledger.unsettled_ns},
		{"productive", r->ledger.productive_gross_ns},
		{"disruptions", r->ledger.disruptions},
		{"ledger_steps", r->ledger.steps},
		{"secured_step", r->secured ? r->secured_step : UINT64_MAX},
		{"secured", r->secured ? r->secured_ns : UINT64_MAX},
		{"checkpoints", r->checkpoints},
		{"restores", r->restores},
		{"hits", r->hits},
		{"cost", r->overhead.sum.all_ns},
		{"lost", r->lost},
		{"loops", r->nloops},
		{"hung", r->hang.hung},
		{"attempt", (uint64_t)r->place.attempt},
		{"rank", (uint64_t)r->rank},
		{"world", (uint64_t)r->world_size},
		{"straggler", r->straggle.now},
		{"straggles", r->straggle.count},
		{"straggler_since", r->straggle.onset_step},
		{"straggler_size", r->straggle.size_ns},
		{"device_errors", r->faults[FAULT_device]},
		{"communicator_errors", r->faults[FAULT_communicator]},
		{"memory_errors", r->faults[FAULT_memory]},
		{"hangs", r->hang.count},
		{"hang_time", r->hang.total_ns},
		{"silent", r->hang.silent},
		{"alive", r->alive},
		{"trainer", r->trainer},
		{"steps", l->last_number},
		{"updates", l->state.updates},
		{"confidence_percent", (uint64_t)(100 * l->state.confidence + 0.5)},
		{"tainted", l->flagged[0]},
		{"imputed", l->flagged[1]},
		{"recompiled", l->flagged[3]},
		{"skipped", l->flagged[2]},
		{"estimated", l->flagged[5]},
		{"hung_steps", l->flagged[6]},
		{"undercounted", l->flagged[7]},
		{"numbers_unsure", l->state.undercounted},
		{"since_attach", l->state.since_attach},
		{"probed_late", l->state.late},
		{"p50", l->time.p50_ns},
		{"max", l->time.max_ns},
		{"ideal", l->time.ideal_ns},
		{"samples", l->time.count},
		{"usual", l->change.usual_ns},
		{"slow", l->change.slow},
		{"slowdowns", l->slow_alarms},
		{"bursts", l->bursts},
		{"bursts_time", l->bursts_ns},
		{"slow_since", l->change.onset_step},
		{"slow_until", l->change.end_step},
		{"slow_time", l->change.after_ns},
		{"lost_contention", r->cause_ns[TIME_CAUSE_cpu_contention]},
		{"lost_throttled", r->cause_ns[TIME_CAUSE_cpu_throttled]},
		{"lost_own_code", r->cause_ns[TIME_CAUSE_own_code]},
		{"lost_straggler", r->cause_ns[TIME_CAUSE_straggler]},
		{"else_share", (uint64_t)(100 * r->else_share + 0.5)},
		{"else_first", (uint64_t)(100 * r->else_lines[0].share + 0.5)},
		{"lost_unknown", r->cause_ns[TIME_CAUSE_unknown]},
		{"lost_loader", r->cause_ns[TIME_CAUSE_loader_cpu]},
		{"input_wait", r->input.wait_ns},
		{"input_unknown", r->input.ns[INPUT_UNKNOWN]},
		{"late_whole", r->windows[0].whole},
		{"late_goodput", r->windows[0].ns[BUCKET_GOODPUT]},
		{"late_hang", r->windows[0].ns[BUCKET_HANG]},
		{"late_other", r->windows[0].ns[BUCKET_OTHER]},
		{"late_unsettled", r->windows[0].unsettled_ns},
		{"late_excluded", r->windows[0].ns[BUCKET_EXCLUDED]},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].key, key)) {
			*ret = table[i].value;
			return true;
		}
	}
	if (figure_type(f, &r->ledger, key, ret) || figure_range(l, key, ret) ||
	    figure_bucket(&r->ledger, key, ret) || figure_long(&r->long_steps, key, ret) ||
	    figure_badput(r, key, ret, NULL) || figure_lacked(&r->lacked, key, ret))
		return true;
	if (!strcmp(key, "in_host") || !strcmp(key, "waited")) {
		*ret = !l->device_known ? UINT64_MAX : *key == 'w' ? l->wait_ns : l->host_ns;
		return true;
	}
	for (int i = 0; i < PHASE_COUNT; i++) {
		if (!strncmp(key, "in_", 3) && !strcmp(phase_name[i], key + 3)) {
			*ret = l->phases_known & 1u << i ? l->phase_ns[i] : UINT64_MAX;
			return true;
		}
	}
	return false;
}

static uint64_t accelerator_time(const struct job_view *j)
{
	double ns = 0;

	for (int b = 0; b < BUCKET_COUNT; b++)
		ns += j->accelerator_ns[b];
	return (uint64_t)ns;
}

static uint64_t schedule_part(const struct scheduling *s, enum schedule_part part)
{
	return s->known ? s->ns[part] : UINT64_MAX;
}

/* job.NAME: of the first job, or of the one that is meant. */
static bool figure_job(const struct figure *f, const char *key, uint64_t *ret)
{
	const struct job_view *j = f->job;
	const struct job_disruption *last = j->ndisruptions ? &j->disruptions[j->ndisruptions - 1]
							    : &(struct job_disruption){0};
	const struct {
		const char *key;
		uint64_t value;
	} table[] = {
		{"runs", j->runs},
		{"formers", j->nformer_names},
		{"carried", j->carried_runs},
		{"members", j->members},
		{"starts", j->starts},
		{"futile_runs", j->futile_runs},
		{"done_steps", j->done_steps},
		{"disruptions", j->ledger.disruptions},
		{"settled", j->ledger.disruptions - j->unsettled},
		{"elapsed", ledger_elapsed(&j->ledger)},
		{"unsettled", j->ledger.unsettled_ns},
		{"steps", j->last_step},
		{"reference", j->reference_pid / 1000},
		{"world", (uint64_t)j->world_size},
		{"wasted_gross", j->wasted_gross_ns},
		{"over", last->over},
		{"fell_step", (uint64_t)last->d.step},
		{"resumed_step", (uint64_t)last->d.resumed_step},
		{"fall_starts", last->d.starts},
		{"fall_wasted", last->d.wasted_ns},
		{"recovery_time", last->d.recovery_ns},
		{"down", last->d.down_ns},
		{"graceful", last->d.graceful},
		{"guessed", last->estimated},
		{"first_to_fall", last->why.pid / 1000},
		{"recovery", j->ledger.ns[BUCKET_RECOVERY]},
		{"wasted", j->ledger.ns[BUCKET_WASTED]},
		{"late_whole", j->windows[0].whole},
		{"late_goodput", j->windows[0].ns[BUCKET_GOODPUT]},
		{"late_wasted", j->windows[0].ns[BUCKET_WASTED]},
		{"late_other", j->windows[0].ns[BUCKET_OTHER]},
		{"late2_wasted", j->windows[1].ns[BUCKET_WASTED]},
		{"made", j->work.made},
		{"counted", j->ledger.steps},
		{"causes", j->ncauses},
		{"gross", j->ledger.productive_gross_ns},
		{"lost", j->work.lost},
		{"accelerators", (uint64_t)j->program.accelerators},
		{"operations", (uint64_t)j->program.flops},
		{"operations_source", j->program.source},
		{"attention", (uint64_t)j->program.operations.kind[OPERATION_KIND_attention]},
		{"matmul", (uint64_t)j->program.operations.kind[OPERATION_KIND_matmul]},
		{"bf16", (uint64_t)j->program.operations.type[OPERATION_TYPE_bf16]},
		{"fp32", (uint64_t)j->program.operations.type[OPERATION_TYPE_fp32]},
		{"operations_steps", j->program.flops_steps},
		{"operations_lack", j->program.uncounted[0] != 0},
		{"samples_s", (uint64_t)(j->program.steps.samples + 0.5)},
		{"samples_in_all", (uint64_t)(j->program.elapsed.samples + 0.5)},
		{"mfu_ppm", (uint64_t)(1e6 * j->program.steps.mfu + 0.5)},
		{"hfu_ppm", (uint64_t)(1e6 * j->program.steps.hfu + 0.5)},
		{"again", (uint64_t)operations_again(&j->program.operations)},
		{"mfu_in_all_ppm", (uint64_t)(1e6 * j->program.elapsed.mfu + 0.5)},
		{"program_ppm", (uint64_t)(1e6 * j->program.program + 0.5)},
		{"accel_unobserved", (uint64_t)j->accelerator_ns[BUCKET_UNOBSERVED]},
		{"accel_goodput", (uint64_t)j->accelerator_ns[BUCKET_GOODPUT]},
		{"accel_wasted", (uint64_t)j->accelerator_ns[BUCKET_WASTED]},
		{"accel_recovery", (uint64_t)j->accelerator_ns[BUCKET_RECOVERY]},
		{"accel_excluded", (uint64_t)j->accelerator_ns[BUCKET_EXCLUDED]},
		{"accel_all", accelerator_time(j)},
		{"attempt", (uint64_t)j->attempt},
		{"told_here", j->reported_here},
		{"reference_rank", (uint64_t)j->reference_rank},
		{"created_in", schedule_part(&j->scheduling, SCHEDULE_create)},
		{"scheduled_in", schedule_part(&j->scheduling, SCHEDULE_schedule)},
		{"pulled_in", schedule_part(&j->scheduling, SCHEDULE_image)},
		{"started_in", schedule_part(&j->scheduling, SCHEDULE_start)},
		{"fall_created_in", schedule_part(&last->scheduling, SCHEDULE_create)},
		{"fall_scheduled_in", schedule_part(&last->scheduling, SCHEDULE_schedule)},
		{"fall_pulled_in", schedule_part(&last->scheduling, SCHEDULE_image)},
		{"fall_started_in", schedule_part(&last->scheduling, SCHEDULE_start)},
		{"late_excluded", j->windows[0].ns[BUCKET_EXCLUDED]},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].key, key)) {
			*ret = table[i].value;
			return true;
		}
	}
	if (figure_type(f, &j->ledger, key, ret) || figure_bucket(&j->ledger, key, ret))
		return true;
	return false;
}

/* Returns what explains most of the waits for input, as rank_input_causes() has it: "" for
 * nothing. */
static const char *figure_input(const struct rank_view *r, bool text)
{
	static char out[120];
	struct bucket_cause causes[INPUT_REASONS];

	if (!rank_input_causes(r, causes))
		return "";
	if (!text)
		return time_cause_name[causes[0].cause];
	input_finding_text(out, sizeof(out), &causes[0].input);
	for (char *at = out; *at; at++) /* a comma ends an expectation */
		*at = *at == ',' ? ';' : *at;
	return out;
}

static const char *figure_text(const struct figure *f, const char *key)
{
	if (f->job && !strcmp(key, "name"))
		return f->job->name;
	if (f->job && !strcmp(key, "uid"))
		return f->job->uid;
	if (f->job && !strcmp(key, "cause"))
		return f->job->ndisruptions
			       ? disruption_cause_name[f->job->disruptions[f->job->ndisruptions - 1]
							       .why.cause]
			       : "";
	if (f->job && !strcmp(key, "how"))
		return f->job->ndisruptions ? f->job->disruptions[f->job->ndisruptions - 1].how
					    : "";
	if (f->job)
		return strcmp(key, "state") ? NULL : job_state_name[f->job->state];
	if (f->rank && !strcmp(key, "job"))
		return f->rank->job;
	if (f->rank && !strcmp(key, "pod"))
		return f->rank->place.pod;
	if (!strcmp(key, "cause"))
		return f->run->seen.cause;
	if (!strcmp(key, "match"))
		return checkpoint_how_name[f->run->seen.match.how];
	if (!strcmp(key, "file"))
		return f->run->seen.file;
	if (!strcmp(key, "fault"))
		return f->run->seen.disruption.why.fault;
	if (!strcmp(key, "health"))
		return f->run->seen.kind;
	if (!strcmp(key, "health_name"))
		return f->run->seen.name;
	if (!strcmp(key, "why"))
		return f->run->seen.why;
	if (!strcmp(key, "phase"))
		return f->run->seen.phase;
	if (!strcmp(key, "evidence"))
		return f->run->seen.evidence;
	if (f->rank && !strncmp(key, "badput_", 7) && strstr(key, "_line")) {
		const char *line = "";
		uint64_t ns;

		return figure_badput(f->rank, key, &ns, &line) ? line : NULL;
	}
	if (f->rank && (!strcmp(key, "input_cause") || !strcmp(key, "input_text")))
		return figure_input(f->rank, !strcmp(key, "input_text"));
	if (!strcmp(key, "looks") && f->rank)
		return hang_why_name[f->rank->hang.why];
	if (!f->loop)
		return NULL;
	if (!strcmp(key, "state"))
		return step_state_name[f->loop->state.state];
	if (!strcmp(key, "marker"))
		return f->loop->state.marker;
	if (!strcmp(key, "boundary"))
		return boundary_name[f->loop->state.boundary];
	if (!strcmp(key, "unit"))
		return unit_name[f->loop->state.unit];
	if (!strcmp(key, "series"))
		return series_name[f->loop->state.series];
	if (!strcmp(key, "reason"))
		return f->loop->state.reason;
	if (!strcmp(key, "ratios"))
		return f->loop->state.ratios;
	return NULL;
}

#endif
