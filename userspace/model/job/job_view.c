/* SPDX-License-Identifier: Apache-2.0 */
/* job_view.c - fills a job's part of a snapshot; saves and restores the state of all jobs. */
#include "userspace/model/job/job_private.h"
#include "userspace/base/number.h"

static void job_view_disruptions_view(const struct job *j, struct job_view *ret)
{
	uint64_t here = j->ndisruptions - j->carried_disruptions,
		 n = smaller_of(here, JOB_DISRUPTIONS);

	for (uint64_t i = 0; i < n; i++)
		ret->disruptions[i] = j->disruptions[(j->ndisruptions - n + i) % JOB_DISRUPTIONS];
	/* The figures of a disruption that is not over may have changed since it was reported. */
	if (n && j->disrupted && !j->unreported)
		ret->disruptions[n - 1] = j->disruption;
	ret->ndisruptions = (uint32_t)n;
	memcpy(ret->causes, j->causes, sizeof(ret->causes));
	ret->ncauses = j->ncauses;
	ret->unsettled = j->unsettled;
}

void job_view(const struct job *j, uint64_t now_ns, struct job_view *ret)
{
	*ret = (struct job_view){
		.key = j->key,
		.from = j->from,
		.attempt = j->attempt,
		.scheduling = j->scheduling,
		.state = j->state == JOB_RUNNING && j->disrupted && !j->unreported && !j->ref
				 ? JOB_DOWN
				 : j->state,
		.first_pid = j->first_pid,
		.runs = j->runs,
		.members = j->members,
		.reference_pid = j->ref ? j->ref->pid : 0,
		.reference_rank = j->ref ? j->ref->process.rank : -1,
		.world_size = j->world_size,
		.run_start_ns = j->run_start_ns,
		.since_real_ns = j->since_real_ns,
		.wasted_gross_ns = j->time.wasted_ns,
		.last_step = j->last_step,
		.done_steps = j->done_steps,
		.starts = j->starts,
		.futile_runs = j->futile_runs,
		.reported_here = job_reported_here(j),
	};
	memcpy(ret->former_names, j->former_names, sizeof(ret->former_names));
	ret->nformer_names = j->nformer_names;
	memcpy(ret->name, j->name, sizeof(ret->name));
	memcpy(ret->uid, j->uid, sizeof(ret->uid));
	ret->carried_runs = j->carried_runs;
	ret->carried = j->carried_runs;
	if (j->npoints) {
		ret->secured_step = j->points[(j->npoints - 1) % JOB_POINTS].step;
		ret->secured_ns = j->points[(j->npoints - 1) % JOB_POINTS].goodput_ns;
	}
	job_time_view(j, now_ns, &ret->ledger);
	if (j->ref)
		ledger_view_idle(&ret->ledger, j->excluded, now_ns);
	job_work_view(j, now_ns, ret);
	job_view_disruptions_view(j, ret);
}

void job_view_windows(const struct job *j, const uint64_t *windows_ns, struct job_view *v)
{
	job_windows(j, v->ledger.now_ns, windows_ns, v->windows);
}

/* ---- state ----------------------------------------------------------------------------------- */

static void job_view_disruption_archive(struct archive *a, struct job_disruption *f)
{
	archive_field(a, f->number);
	archive_below(a, &f->why.cause, CAUSE_COUNT);
	archive_fields(a, f, why.fault, why.rank, why.pid, why.exit_code, why.signal, why.sender,
		       why.managed, why.sender_comm, d.at_ns, d.resumed_ns, d.step, d.resumed_step,
		       d.wasted_ns, d.recovery_ns, d.down_ns, d.starts);
	archive_fields(a, f, d.graceful, split_ns);
	scheduling_archive(a, &f->scheduling);
	archive_fields(a, f, over, estimated, how);
}

static void job_view_time_archive(struct archive *a, struct job_time *t)
{
	uint64_t sum_ns = 0;

	archive_fields(a, t, start_ns, edge_ns, past_ns, base_ns, skip_ns, base_steps,
		       base_gross_ns, steps, gross_ns, wasted_ns, past_types_ns, base_types_ns);
	for (int b = 0; b < BUCKET_COUNT; b++) {
		archive_require(a, t->past_ns[b] <= t->edge_ns - t->start_ns);
		sum_ns += t->past_ns[b];
	}
	archive_require(a,
			!job_before(t->edge_ns, t->start_ns) && sum_ns == t->edge_ns - t->start_ns);
}

static void job_view_points_archive(struct archive *a, struct job *j)
{
	uint32_t n;

	archive_field(a, j->npoints);
	n = smaller_of(j->npoints, JOB_POINTS);
	if (archive_reads(a) && n) {
		j->points = archive_alloc(a, n, sizeof(*j->points));
		j->points_cap = n = j->points ? n : 0;
		j->npoints = n ? j->npoints : 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		archive_fields(a, &j->points[i], step, goodput_ns, excluded, run);
		archive_require(a, j->points[i].excluded >= 0);
	}
}

static void job_view_former_names_archive(struct archive *a, struct job *j)
{
	archive_count(a, &j->nformer_names, JOB_FORMERS, sizeof(j->former_names[0]));
	for (uint32_t i = 0; i < j->nformer_names && !a->error; i++)
		archive_fields(a, &j->former_names[i], key, name, uid);
}

static void job_archive(struct archive *a, struct job **at)
{
	struct job *j = *at = archive_object(a, *at, sizeof(*j));
	bool files;

	archive_require(a, j);
	if (!j)
		return;
	archive_fields(a, j, key, name, uid);
	job_view_former_names_archive(a, j);
	archive_below(a, &j->from, GP_JOB_FROM_COUNT);
	archive_field(a, j->attempt);
	scheduling_archive(a, &j->scheduling);
	archive_fields(a, j, carried_runs, carried_disruptions, joins, standing);
	archive_below(a, &j->state, JOB_ENDED + 1);
	archive_fields(a, j, first_pid, tree, command, shell_pid, branch_pid, together, runs,
		       starts, world_size, run_start_ns, since_real_ns, last_step, done_steps,
		       headway_step, headway_run, futile_runs);
	archive_fields(a, j, step_base, based_run, first_read);
	job_view_time_archive(a, &j->time);
	job_work_archive(a, &j->work);
	files = j->files;
	archive_field(a, files);
	if (files)
		checkpoints_archive(a, &j->files);
	straggler_archive(a, &j->straggler);
	job_places_archive(a, &j->places);
	job_lines_archive(a, &j->lines);
	window_archive(a, &j->window);
	window_edge_archive(a, &j->ref_edge);
	archive_field(a, j->ref_midway);
	job_view_points_archive(a, j);
	archive_fields(a, j, failed_ns, disrupted, unreported, unsettled);
	job_view_disruption_archive(a, &j->disruption);
	archive_fields(a, j, disruption_past_ns, ndisruptions);
	for (uint64_t i = 0; i < JOB_DISRUPTIONS && i < j->ndisruptions; i++)
		job_view_disruption_archive(a, &j->disruptions[i]);
	archive_count(a, &j->ncauses, JOB_CAUSES, sizeof(j->causes[0]));
	for (uint32_t i = 0; i < j->ncauses && !a->error; i++) {
		archive_below(a, &j->causes[i].cause, CAUSE_COUNT);
		archive_require(a, j->causes[i].cause != CAUSE_none);
		archive_field(a, j->causes[i].count);
	}
	archive_require(a, !j->unsettled || (j->disrupted && !j->unreported));
	archive_require(a, (!j->disrupted || j->unreported || j->ndisruptions) &&
				   j->carried_disruptions <= j->ndisruptions);
}

void jobs_archive(struct archive *a, struct jobs *js, const struct excluded *excluded)
{
	uint32_t n = js->count;

	archive_count(a, &n, JOBS_MAX, sizeof(struct job));
	for (uint32_t i = 0; i < n && !a->error; i++) {
		job_archive(a, &js->job[i]);
		if (archive_reads(a) && js->job[i])
			js->job[i]->excluded = excluded;
		js->count = archive_reads(a) && js->job[i] ? i + 1 : js->count;
	}
	archive_field(a, js->forgotten);
}

void job_member_archive(struct archive *a, struct job_member *m)
{
	bool joined = m->job, reference = m->job && m->job->ref == m;

	archive_fields(a, m, job_key, run, step_base);
	archive_below(a, &m->standing, JOB_STANDS_COUNT);
	archive_field(a, joined);
	archive_field(a, reference);
	archive_require(a, !reference || joined);
	if (!archive_reads(a) || !joined)
		return;
	m->job = jobs_find(&m->env->jobs, m->job_key);
	archive_require(a, m->job && m->ledger && !(reference && m->job->ref));
	if (a->error || !m->job)
		return;
	archive_require(a, m->run != m->job->runs || m->job->standing[m->standing]);
	m->job->members++;
	if (reference)
		m->job->ref = m;
}
