/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/disruption.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/csv_text.h"
#include "userspace/base/json_text.h"

static int64_t disruption_step_or_unknown(int64_t step)
{
	return step == DISRUPTION_NO_STEP ? DISRUPTION_UNKNOWN : step;
}

void disruption_of_job(struct disruption_row *ret, const struct job_disruption *f, int64_t wall_ns)
{
	const struct disruption *d = &f->d;

	*ret = (struct disruption_row){
		.number = f->number,
		.over = f->over,
		.graceful = d->graceful,
		.estimated = f->estimated,
		.rank = f->why.rank,
		.pid = f->why.pid,
		.exit_code = f->why.exit_code,
		.signal = f->why.signal,
		.sender = f->why.sender,
		.at_ns = wall_ns ? wall_ns + (int64_t)d->at_ns : 0,
		.mono_ns = (int64_t)d->at_ns,
		.resumed_ns = wall_ns && d->resumed_ns ? wall_ns + (int64_t)d->resumed_ns : 0,
		.step = disruption_step_or_unknown(d->step),
		.resumed_step = disruption_step_or_unknown(d->resumed_step),
		.starts = d->starts,
		.wasted_ns = f->over ? (int64_t)d->wasted_ns : DISRUPTION_UNKNOWN,
		.recovery_ns = f->over ? (int64_t)d->recovery_ns : DISRUPTION_UNKNOWN,
		.down_ns = f->over ? (int64_t)d->down_ns : DISRUPTION_UNKNOWN,
		.scheduling = f->scheduling,
	};
	snprintf(ret->cause, sizeof(ret->cause), "%s", disruption_cause_name[f->why.cause]);
	memcpy(ret->fault, f->why.fault, sizeof(ret->fault));
	memcpy(ret->sender_comm, f->why.sender_comm, sizeof(ret->sender_comm));
	memcpy(ret->how, f->how, sizeof(ret->how));
	for (int i = 0; f->over && i < BUCKET_COUNT; i++)
		ret->split_ns[i] = (int64_t)f->split_ns[i];
}

const char *disruption_cause_text(char *out, size_t len, const struct disruption_row *r)
{
	if (r->graceful)
		snprintf(out, len, "asked to end");
	else if (*r->fault)
		snprintf(out, len, "%s", r->fault);
	else if (r->signal && *r->sender_comm)
		snprintf(out, len, "%s, signal %d by %s", r->cause, r->signal, r->sender_comm);
	else if (r->signal)
		snprintf(out, len, "%s, signal %d", r->cause, r->signal);
	else if (r->exit_code > 0)
		snprintf(out, len, "%s, status %d", r->cause, r->exit_code);
	else
		snprintf(out, len, "%s", *r->cause ? r->cause : "unknown");
	return out;
}

void disruption_scheduling_json(struct buffer *out, const struct scheduling *s)
{
	json_open(out, "scheduling", '{');
	for (int i = 0; s && s->known && i < SCHEDULE_COUNT; i++)
		json_uint(out, schedule_name[i], s->ns[i]);
	json_close(out, '}');
}

static void disruption_json_int(struct buffer *out, const char *key, int64_t v)
{
	json_int_if(out, key, v != DISRUPTION_UNKNOWN, v);
}

static void disruption_json_step(struct buffer *out, const char *key, int64_t step)
{
	json_int_if(out, key, step && step != DISRUPTION_UNKNOWN, step);
}

void disruption_json(struct buffer *out, const struct disruption_row *r)
{
	json_nonzero(out, "disruption", r->number);
	json_bool(out, "over", r->over);
	json_string(out, "cause", r->cause);
	json_known(out, "fault", r->fault);
	json_bool(out, "graceful", r->graceful);
	json_int_if(out, "exit_code", r->exit_code >= 0, r->exit_code);
	json_nonzero(out, "signal", (uint64_t)r->signal);
	json_nonzero(out, "sender", r->sender);
	json_known(out, "sender_comm", r->sender_comm);
	json_time(out, "at", r->at_ns);
	disruption_json_int(out, "at_ns", r->mono_ns);
	disruption_json_step(out, "step", r->step);
	disruption_json_int(out, "starts", r->starts);
	json_time(out, "resumed", r->resumed_ns);
	disruption_json_step(out, "resumed_step", r->resumed_step);
	disruption_json_int(out, "wasted_ns", r->wasted_ns);
	disruption_json_int(out, "recovery_ns", r->recovery_ns);
	disruption_json_int(out, "down_ns", r->down_ns);
	json_open(out, "recovery", '{');
	for (int i = 0; i < BUCKET_COUNT; i++)
		if (r->split_ns[i])
			json_int(out, bucket_name[i], r->split_ns[i]);
	json_close(out, '}');
	disruption_scheduling_json(out, &r->scheduling);
	json_bool(out, "estimated", r->estimated);
	json_known(out, "how", r->how);
}

void disruption_json_object(struct buffer *out, const struct disruption_row *r)
{
	json_open(out, NULL, '{');
	json_int_if(out, "rank", r->rank >= 0, r->rank);
	json_nonzero(out, "pid", r->pid);
	disruption_json(out, r);
	json_close(out, '}');
}

static void disruption_csv_int(struct buffer *b, int64_t v)
{
	csv_int_if(b, v != DISRUPTION_UNKNOWN, v);
}

static void disruption_csv_step(struct buffer *b, int64_t step)
{
	csv_int_if(b, step && step != DISRUPTION_UNKNOWN, step);
}

void disruption_csv(struct buffer *b, const struct disruption_row *r)
{
	struct buffer object = {0};

	csv_nonzero(b, r->number);
	csv_bool(b, r->over);
	csv_text(b, r->cause);
	csv_text(b, r->fault);
	csv_bool(b, r->graceful);
	csv_int_if(b, r->exit_code >= 0, r->exit_code);
	csv_nonzero(b, (uint64_t)r->signal);
	csv_nonzero(b, r->sender);
	csv_text(b, r->sender_comm);
	csv_time(b, r->at_ns);
	disruption_csv_int(b, r->mono_ns);
	disruption_csv_step(b, r->step);
	disruption_csv_int(b, r->starts);
	csv_time(b, r->resumed_ns);
	disruption_csv_step(b, r->resumed_step);
	disruption_csv_int(b, r->wasted_ns);
	disruption_csv_int(b, r->recovery_ns);
	disruption_csv_int(b, r->down_ns);
	for (int i = 0; i < BUCKET_COUNT; i++)
		if (r->split_ns[i] > 0)
			csv_object_part(&object, bucket_name[i], (uint64_t)r->split_ns[i]);
	csv_object(b, &object);
	for (int i = 0; r->scheduling.known && i < SCHEDULE_COUNT; i++)
		csv_object_part(&object, schedule_name[i], r->scheduling.ns[i]);
	csv_object(b, &object);
	csv_bool(b, r->estimated);
	csv_text(b, r->how);
}
