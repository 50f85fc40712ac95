/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/json_part.h"

#include <string.h>

#include "userspace/base/json_text.h"
#include "userspace/ingest/event.h"

void json_part_time(struct buffer *out, const struct ledger_view *l, const struct type_names *types)
{
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	json_uint(out, "elapsed_ns", ledger_elapsed(l));
	json_uint(out, "excluded_ns", l->ns[BUCKET_EXCLUDED]);
	json_open(out, "buckets", '{');
	for (uint32_t i = 0; (name = ledger_part(l, types, i, room, &ns)); i++)
		json_uint(out, name, ns);
	json_close(out, '}');
	json_uint(out, "unsettled_ns", l->unsettled_ns);
}

void json_part_ratio(struct buffer *out, const struct ledger_view *l, bool trains)
{
	uint64_t observed_ns = ledger_elapsed(l) - l->ns[BUCKET_UNOBSERVED];

	json_uint(out, "observed_ns", observed_ns);
	if (trains && observed_ns)
		json_real(out, "goodput_ratio",
			  (double)l->ns[BUCKET_GOODPUT] / (double)observed_ns);
	else
		json_null(out, "goodput_ratio");
}

void json_part_counts(struct buffer *out, const struct ledger_view *l)
{
	json_uint(out, "productive_gross_ns", l->productive_gross_ns);
	json_uint(out, "steps", l->steps);
	json_nonzero(out, "max_productive_step", l->max_step);
	json_uint(out, "late_ns", l->late_ns);
	json_uint(out, "merged", l->merged);
	json_uint(out, "disruptions", l->disruptions);
}

void json_part_window_ledger(const struct window_view *w, struct ledger_view *ret)
{
	*ret = (struct ledger_view){
		.start_ns = w->from_ns, .now_ns = w->to_ns, .unsettled_ns = w->unsettled_ns};
	memcpy(ret->ns, w->ns, sizeof(ret->ns));
	ret->types[ret->ntypes++] = (struct ledger_type){0, w->type_ns[0]};
	for (uint32_t i = 1; i < LEDGER_TYPES; i++)
		if (w->type_ns[i])
			ret->types[ret->ntypes++] = (struct ledger_type){i, w->type_ns[i]};
}

void json_part_loop(struct buffer *out, const struct step_state *st)
{
	json_string(out, "state", step_state_name[st->state]);
	json_known(out, "tier", tier_name[st->tier]);
	json_known(out, "marker", st->marker);
	json_string(out, "boundary", st->boundary ? boundary_name[st->boundary] : NULL);
	json_string(out, "unit", st->tier ? unit_name[st->unit] : NULL);
	json_string(out, "series", st->tier ? series_name[st->series] : NULL);
	json_known(out, "ratios", st->ratios);
	json_real(out, "confidence", st->confidence);
	json_known(out, "reason", st->reason);
	json_uint(out, "loop", st->loop);
	json_string(out, "numbering",
		    st->undercounted   ? "undercounted"
		    : st->since_attach ? "since_attach"
				       : "process_start");
	json_uint(out, "steps", st->steps);
	json_uint(out, "updates", st->updates);
	json_nonzero(out, "period", st->period);
}

void json_part_phases(struct buffer *out, uint32_t known, const uint64_t ns[PHASE_COUNT],
		      bool device_known, uint64_t host_ns)
{
	json_open(out, "phases", '{');
	for (int i = 0; i < PHASE_COUNT; i++)
		if (known & (1u << i))
			json_uint(out, phase_name[i], ns[i]);
	if (device_known)
		json_uint(out, "host", host_ns);
	json_close(out, '}');
}

static void json_part_waits(struct buffer *out, const struct examination *e)
{
	json_open(out, "asleep_ns", '{');
	for (int i = 0; i < GP_WAIT_COUNT; i++)
		if (e->wait_ns[i])
			json_uint(out, examination_wait_name[i], e->wait_ns[i]);
	json_close(out, '}');
	json_open(out, "waits", '[');
	for (uint32_t i = 0; i < e->nwaits; i++) {
		const struct examination_wait *w = &e->waits[i];

		json_open(out, NULL, '{');
		json_string(out, "wait", examination_wait_name[w->wait]);
		json_known(out, "target", w->name);
		json_uint(out, "ns", w->ns);
		json_uint(out, "count", w->count);
		json_uint(out, "slow", w->slow);
		json_uint(out, "worst_ns", w->worst_ns);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void json_part_instead(struct buffer *out, const struct examination *e)
{
	json_open(out, "instead", '[');
	for (uint32_t i = 0; i < e->ninstead; i++) {
		const struct examination_instead *p = &e->instead[i];

		json_open(out, NULL, '{');
		json_uint(out, "pid", p->pid);
		json_known(out, "comm", p->pid ? p->comm : "");
		json_known(out, "control_group", p->group);
		json_known(out, "job", p->job);
		json_uint(out, "ns", p->ns);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void json_part_devices(struct buffer *out, const struct examination *e)
{
	json_open(out, "devices", '[');
	for (uint32_t i = 0; i < e->ndevices; i++) {
		const struct examination_device *d = &e->devices[i];

		json_open(out, NULL, '{');
		json_string(out, "name", d->name);
		json_uint(out, "count", d->count);
		json_uint(out, "slow", d->slow);
		json_uint(out, "mean_ns", d->ns / d->count);
		json_uint(out, "worst_ns", d->worst_ns);
		json_close(out, '}');
	}
	json_close(out, ']');
}

void json_part_examination(struct buffer *out, const char *key, const struct examination *e)
{
	json_open(out, key, '{');
	json_uint(out, "from_ns", e->from_ns);
	json_uint(out, "to_ns", e->to_ns);
	json_uint(out, "tid", e->tid);
	json_uint(out, "cost_ns", e->cost_ns);
	json_uint(out, "runnable_ns", e->runnable_ns);
	json_uint(out, "block_ns", e->block_ns);
	json_part_waits(out, e);
	json_part_instead(out, e);
	json_part_devices(out, e);
	json_close(out, '}');
}

void json_part_losses(struct buffer *out, const struct snapshot *s)
{
	for (int data = 1; data >= 0; data--) {
		json_open(out, data ? "losses" : "noted", '{');
		for (unsigned i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
			if (s->lost[i] && event_loss_of_data(i) == data)
				json_uint(out, event_loss_name(i), s->lost[i]);
		json_close(out, '}');
	}
}

void json_part_causes(struct buffer *out, const struct time_causes *l)
{
	json_open(out, "causes", '[');
	for (int i = 0; i < TIME_CAUSE_COUNT; i++) {
		const char *line = time_causes_line(l, (enum time_cause)i);

		if (!l->ns[i])
			continue;
		json_open(out, NULL, '{');
		json_string(out, "cause", time_cause_name[i]);
		json_uint(out, "ns", l->ns[i]);
		json_real(out, "share", time_cause_share(l, (enum time_cause)i));
		if (i == TIME_CAUSE_own_code || *line)
			json_known(out, "line", line);
		json_close(out, '}');
	}
	json_close(out, ']');
}
