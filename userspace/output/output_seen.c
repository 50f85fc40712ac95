/* SPDX-License-Identifier: Apache-2.0 */
/* How much a service has seen in its life. */
#include "userspace/base/table.h"
#include "userspace/output/output_private.h"

/* A job's key changes when its name becomes known. */
static void output_seen_job(struct output *out, const struct job_view *j, bool counts)
{
	bool known = table_get(out->jobs, j->key);

	for (uint32_t i = 0; i < j->nformer_names && !known; i++)
		known = table_get(out->jobs, j->former_names[i].key);
	out->seen.jobs += counts && !known;
	table_put(out->jobs, j->key, out);
}

void output_seen_open(struct output *out)
{
	struct snapshot *s = model_snapshot_brief(out->model);

	out->jobs = table_new();
	for (uint32_t i = 0; out->jobs && s && i < s->njobs; i++)
		if (s->jobs[i].state != JOB_RUNNING)
			output_seen_job(out, &s->jobs[i], false);
	snapshot_unref(s);
}

void output_seen_update(struct output *out, const struct snapshot *s)
{
	for (uint32_t i = 0; out->jobs && i < s->njobs; i++)
		if (s->jobs[i].last_step)
			output_seen_job(out, &s->jobs[i], true);
}

void output_seen(struct output *out, struct output_seen *ret)
{
	struct snapshot *s = model_snapshot_brief(out->model);

	if (s)
		output_seen_update(out, s);
	snapshot_unref(s);
	*ret = out->seen;
}
