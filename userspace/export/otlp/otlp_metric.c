/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_metric.h"

#include <stdio.h>

#include "userspace/base/json_text.h"
#include "userspace/export/measure/owners.h"
#include "userspace/export/otlp/otlp_text.h"

#define NS_PER_S   1e9
#define CUMULATIVE 2 /* AGGREGATION_TEMPORALITY_CUMULATIVE of metrics.proto */

struct set { /* state while the points of one measure are written */
	struct buffer *out;
	const struct snapshot *s;
	uint32_t points;
	bool open;
};

static void otlp_metric_open(struct set *set, const struct measure *of)
{
	char name[64];

	snprintf(name, sizeof(name), "gpbpf.%s", of->id);
	json_open(set->out, NULL, '{');
	json_string(set->out, "name", name);
	json_string(set->out, "unit", of->unit);
	json_string(set->out, "description", of->help);
	json_open(set->out,
		  of->type == MEASURE_TIMES ? "histogram"
		  : of->counter		    ? "sum"
					    : "gauge",
		  '{');
	if (of->counter)
		json_uint(set->out, "aggregationTemporality", CUMULATIVE);
	if (of->counter && of->type != MEASURE_TIMES)
		json_bool(set->out, "isMonotonic", true);
	json_open(set->out, "dataPoints", '[');
	set->open = true;
}

static void otlp_metric_attributes(struct buffer *out, const struct measure_put *m,
				   const struct measure_point *p)
{
	char room[EXPORT_JOB_ROOM], name[32];

	json_open(out, "attributes", '[');
	otlp_text(out, "gpbpf.job", m->job ? export_job_name(m->job, room) : m->rank->job);
	if (m->job)
		otlp_text(out, "gpbpf.job.uid", m->job->uid);
	if (m->rank && m->rank->rank >= 0)
		otlp_int(out, "gpbpf.rank", m->rank->rank);
	if (m->rank)
		otlp_int(out, "process.pid", m->rank->pid);
	if (m->loop && m->loop->state.loop)
		otlp_int(out, "gpbpf.loop", m->loop->state.loop);
	if (p->label) {
		snprintf(name, sizeof(name), "gpbpf.%s", m->measure->label);
		otlp_text(out, name, p->label);
	}
	json_close(out, ']');
}

static void otlp_metric_times(struct buffer *out, const struct deviation_view *t)
{
	uint64_t count = 0;
	char text[24];

	json_open(out, "bucketCounts", '[');
	for (int i = 0; i <= DEVIATION_BOUNDS; i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)t->bucket[i]);
		json_string(out, NULL, text);
		count += t->bucket[i];
	}
	json_close(out, ']');
	json_open(out, "explicitBounds", '[');
	for (int i = 0; i < DEVIATION_BOUNDS; i++)
		json_double(out, NULL, (double)deviation_bound_ns[i] / NS_PER_S);
	json_close(out, ']');
	otlp_uint64(out, "count", count);
	json_double(out, "sum", (double)t->sum_ns / NS_PER_S);
	json_double(out, "max", (double)t->max_ns / NS_PER_S);
}

static void otlp_metric_point(void *ctx, const struct measure_put *m, const struct measure_point *p)
{
	const struct measure *of = m->measure;
	struct set *set = ctx;
	int64_t since_ns = m->rank ? m->rank->since_real_ns : m->job->since_real_ns;

	if (of->rule == MEASURE_LABEL_SPARSE && !p->count)
		return;
	if (!set->open)
		otlp_metric_open(set, of);
	json_open(set->out, NULL, '{');
	if (of->counter && since_ns > 0)
		otlp_uint64(set->out, "startTimeUnixNano", (uint64_t)since_ns);
	otlp_uint64(set->out, "timeUnixNano", set->s->real_ns > 0 ? (uint64_t)set->s->real_ns : 0);
	otlp_metric_attributes(set->out, m, p);
	if (of->type == MEASURE_TIMES)
		otlp_metric_times(set->out, p->times);
	else if (of->type == MEASURE_NS)
		json_double(set->out, "asDouble", (double)p->count / NS_PER_S);
	else if (of->type == MEASURE_REAL)
		json_double(set->out, "asDouble", p->real);
	else
		otlp_uint64(set->out, "asInt", p->count);
	json_close(set->out, '}');
	set->points++;
}

uint32_t otlp_metrics(struct buffer *out, const struct snapshot *s, uint32_t *at)
{
	struct set set = {.out = out, .s = s};
	size_t from = *at, to = from + OTLP_METRIC_RANKS;
	const struct measure *of;
	struct owners owners;

	if (owners_select(&owners, s, s->njobs, s->nranks))
		out->failed = true;
	for (size_t i = 0; !out->failed && (of = measure_at(i)); i++) {
		if (of->owner == MEASURE_JOB && from)
			continue;
		set.open = false;
		owners_points(&owners, of, from, to, otlp_metric_point, &set);
		if (!set.open)
			continue;
		json_close(out, ']');
		json_close(out, '}');
		json_close(out, '}');
	}
	*at = to < owners.nranks ? (uint32_t)to : 0;
	owners_free(&owners);
	return set.points;
}
