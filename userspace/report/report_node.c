/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/report_node.h"

#include "userspace/base/json_text.h"

static const struct rank_view *report_node_rank_of(const struct snapshot *s, uint32_t pid)
{
	for (uint32_t i = 0; i < s->nranks; i++)
		if (s->ranks[i].pid == pid && s->ranks[i].alive)
			return &s->ranks[i];
	return NULL;
}

static void report_node_json_denied(struct buffer *out, const struct node_view *v)
{
	json_open(out, "denied_last", '[');
	for (uint32_t i = 0; i < v->ndenied && i < NODE_DENIED; i++) {
		const struct node_denied
			*d = &v->denied_last[(v->denied - v->ndenied + i) % NODE_DENIED];

		json_open(out, NULL, '{');
		json_uint(out, "pid", d->pid);
		json_string(out, "comm", d->comm);
		json_string(out, "why", d->why);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Lists watched processes that do not belong to a job: servers, processes not yet assigned to a
 * job, and processes that only mapped a library. */
static void report_node_json_quiet(struct buffer *out, const struct snapshot *s)
{
	const struct node_view *v = &s->node;

	json_open(out, "no_training", '[');
	for (uint32_t i = 0; i < v->nquiet && i < NODE_QUIET; i++) {
		const struct rank_view *r = report_node_rank_of(s, v->quiet[i].pid);

		if (r && r->trainer)
			continue;
		json_open(out, NULL, '{');
		json_uint(out, "pid", v->quiet[i].pid);
		json_string(out, "comm", v->quiet[i].comm);
		json_string(
			out, "why",
			r ? "it calls a runtime, and shows no marker of training: it serves, or is idle"
			  : "it maps a library of a known runtime, and has shown no marker of training");
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void report_node_json_pods(struct buffer *out, const struct node_pods *p)
{
	json_open(out, "kubernetes", '{');
	json_bool(out, "current", p->current);
	json_uint(out, "pods", p->pods);
	json_uint(out, "failures", p->failures);
	json_known(out, "trouble", p->trouble);
	json_close(out, '}');
}

void report_node_json(struct buffer *out, const struct snapshot *s)
{
	const struct node_view *v = &s->node;

	if (!v->on)
		return;
	json_open(out, "node", '{');
	json_known(out, "name", v->name);
	json_bool(out, "ready", v->ready);
	json_bool(out, "told_by_kernel", v->kernel_reports);
	json_uint(out, "watched", v->watched);
	json_uint(out, "found", v->found);
	json_uint(out, "denied", v->denied);
	json_uint(out, "gvisor_sandboxes", v->gvisor);
	json_uint(out, "met", v->met);
	json_uint(out, "waiting", v->waiting);
	json_uint(out, "sweeps", v->sweeps);
	json_uint(out, "sweep_processes", v->sweep_saw);
	json_uint(out, "sweep_ns", v->sweep_took_ns);
	if (v->pods.here)
		report_node_json_pods(out, &v->pods);
	else
		json_null(out, "kubernetes");
	report_node_json_denied(out, v);
	report_node_json_quiet(out, s);
	json_close(out, '}');
}
