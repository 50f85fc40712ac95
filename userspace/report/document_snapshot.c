/* SPDX-License-Identifier: Apache-2.0 */
/* document_snapshot.c - fills a job's document from the last snapshot of a live run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/json_part.h"
#include "userspace/report/document.h"
#include "userspace/store/intake.h"
#include "userspace/text/format.h"

static uint32_t document_ranks_of(const struct snapshot *s, const struct job_view *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nranks; i++)
		n += s->ranks[i].job_key == j->key;
	return n;
}

bool document_job_matters(const struct snapshot *s, const struct job_view *j)
{
	return j->runs > 1 || j->ndisruptions || document_ranks_of(s, j) > 1;
}

uint32_t document_windows_of(struct document_window ret[WINDOWS_MAX], const struct window_view *w,
			     const struct type_names *types, int64_t wall_ns)
{
	uint32_t n = 0;

	for (; n < WINDOWS_MAX && w[n].length_ns; n++) {
		ret[n] = (struct document_window){
			.length_ns = w[n].length_ns,
			.from_ns = wall_ns ? wall_ns + (int64_t)w[n].from_ns : 0,
			.mono_ns = w[n].from_ns,
			.whole = w[n].whole,
			.types = *types,
		};
		json_part_window_ledger(&w[n], &ret[n].ledger);
	}
	return n;
}

/* Returns the share of the time since the job's first pod was created in which the job had its
 * nodes. 0: unknown, also if the scheduling of one of the job's disruptions is unknown. */
static double document_scheduled_share(const struct job_view *j)
{
	double all_ns = (double)ledger_elapsed(&j->ledger), without_ns;

	if (!j->scheduling.known || j->carried || j->ledger.disruptions != j->ndisruptions)
		return 0;
	without_ns = (double)j->scheduling.ns[SCHEDULE_create] +
		     (double)j->scheduling.ns[SCHEDULE_schedule];
	for (int i = 0; i < SCHEDULE_COUNT; i++)
		all_ns += (double)j->scheduling.ns[i];
	for (uint32_t i = 0; i < j->ndisruptions; i++) {
		const struct scheduling *s = &j->disruptions[i].scheduling;

		if (!s->known)
			return 0;
		without_ns += (double)s->ns[SCHEDULE_create] + (double)s->ns[SCHEDULE_schedule];
	}
	return all_ns > 0 ? 1 - without_ns / all_ns : 0;
}

static int document_rank_put(struct report_document *d, const struct rank_view *r, int64_t wall_ns)
{
	const struct loop_view *l = text_main_loop(r);
	struct document_rank own = {
		.rank = {.pid = r->pid,
			 .rank = r->rank,
			 .world_size = r->world_size,
			 .start_ns = wall_ns ? wall_ns + (int64_t)r->start_mono_ns : 0,
			 .end_ns = STORE_NONE,
			 .status = r->status,
			 .max_step = r->ledger.max_step,
			 .accelerators = r->accelerators},
		.steps = r->ledger.steps,
	};

	snprintf(own.rank.comm, sizeof(own.rank.comm), "%s", r->comm);
	snprintf(own.rank.command, sizeof(own.rank.command), "%s", r->command);
	if (l) {
		snprintf(own.rank.tier, sizeof(own.rank.tier), "%s", tier_name[l->state.tier]);
		snprintf(own.rank.marker, sizeof(own.rank.marker), "%s", l->state.marker);
		report_times_of_view(&own.times, &l->time);
	}
	sums_of_ledger(&own.sums, &r->ledger);
	own.sums.ns[BUCKET_EXCLUDED] = 0;
	return document_list_add(&d->ranks, &own, sizeof(own));
}

static int document_ranks_put(struct report_document *d, const struct snapshot *s,
			      const struct job_view *j, int64_t wall_ns)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];

		if (r->job_key != j->key || !r->trainer)
			continue;
		d->saves += r->checkpoints;
		d->saves_ns += r->checkpoint_save_ns;
		d->restores += r->restores;
		d->job.alive += r->alive;
		/* A job without a name is named after its first process, as in a store. */
		if (!*j->name && (!*d->job.name || r->pid == j->first_pid))
			snprintf(d->job.name, sizeof(d->job.name), "%s", r->command);
		if (r->ledger.max_step > d->job.max_step)
			d->job.max_step = r->ledger.max_step;
		if (r->start_mono_ns < j->run_start_ns)
			continue; /* of an earlier run */
		if (d->ranks.count < DOCUMENT_LIST)
			err = document_rank_put(d, r, wall_ns);
		else
			d->ranks.earlier++;
	}
	if (d->ranks.count && j->runs == 1)
		d->times = DOCUMENT_AT(d->ranks, struct document_rank, 0)->times;
	return err;
}

static int document_disruptions_put(struct report_document *d, const struct job_view *j,
				    int64_t wall_ns)
{
	struct disruption_row row;
	int err = 0;

	for (uint32_t i = 0; !err && i < j->ndisruptions; i++) {
		disruption_of_job(&row, &j->disruptions[i], wall_ns);
		d->unrecovered += !row.over;
		if (row.over) {
			d->recovery_ns += (uint64_t)row.recovery_ns;
			d->wasted_ns += (uint64_t)row.wasted_ns;
		}
		err = document_list_add(&d->disruptions, &row, sizeof(row));
	}
	if (j->ledger.disruptions > j->ndisruptions)
		d->disruptions.earlier = j->ledger.disruptions - j->ndisruptions;
	return err;
}

static void document_job_put(struct report_document *d, const struct snapshot *s,
			     const struct job_view *j)
{
	struct store_job *to = &d->job;

	intake_key(to->key, s, j);
	snprintf(to->name, sizeof(to->name), "%s", j->name);
	snprintf(to->state, sizeof(to->state), "%s", job_state_name[j->state]);
	snprintf(to->uid, sizeof(to->uid), "%s", j->uid);
	to->imported_ns = STORE_NONE;
	to->carried = j->carried_runs;
	to->runs = j->runs;
	to->ranks = document_ranks_of(s, j);
	to->disruptions = j->ledger.disruptions;
	to->max_step = j->ledger.max_step;
}

int document_of_snapshot(struct report_document **ret, const struct snapshot *s,
			 const struct job_view *j)
{
	int64_t wall_ns = s->real_ns ? s->real_ns - (int64_t)s->mono_ns : 0;
	struct report_document *d = calloc(1, sizeof(*d));
	struct verdict_facts facts;
	int err;

	if (!d)
		return -ENOMEM;
	d->live = true;
	document_job_put(d, s, j);
	d->from_ns = wall_ns ? wall_ns + (int64_t)j->ledger.start_ns : 0;
	d->to_ns = wall_ns ? wall_ns + (int64_t)j->ledger.now_ns : 0;
	d->ledger = j->ledger;
	d->types = s->types;
	d->steps = j->ledger.steps;
	d->totals.excluded_ns = j->ledger.ns[BUCKET_EXCLUDED];
	d->attempt = j->runs;
	d->elsewhere = j->carried_runs;
	d->nwindows = document_windows_of(d->windows, j->windows, &s->types, wall_ns);
	d->secured_step = j->secured_step ? (int64_t)j->secured_step : STORE_NONE;
	d->secured_ns = j->secured_ns;
	d->program = s->program;
	d->rates = j->program;
	d->accelerators = j->accelerators;
	memcpy(d->accelerator_ns, j->accelerator_ns, sizeof(d->accelerator_ns));
	d->scheduled_share = document_scheduled_share(j);
	d->scheduling = j->scheduling;
	d->counted_steps = j->done_steps + j->last_step;
	d->last_step = j->last_step;
	d->futile_runs = j->futile_runs;
	err = document_ranks_put(d, s, j, wall_ns);
	err = err ? err : document_disruptions_put(d, j, wall_ns);
	if (err) {
		document_close(d);
		return err;
	}
	document_say_disruptions(d);
	verdict_facts_of_job(&facts, s, j);
	verdict_find(&d->verdicts, &facts);
	*ret = d;
	return 0;
}
