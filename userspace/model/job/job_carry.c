/* SPDX-License-Identifier: Apache-2.0 */
/* job_carry.c - takes over the history of a job from another node, and prepares the handoff of a
 * job for other nodes. */
#include <errno.h>

#include "userspace/model/job/carry.h"
#include "userspace/model/job/job_private.h"
#include "userspace/base/number.h"

const char *job_history(bool carried)
{
	return carried ? "carried" : "this_node";
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void carry_time(struct job *j, const struct carry *c, uint64_t edge_ns)
{
	struct job_time *t = &j->time;

	*t = (struct job_time){
		.start_ns = edge_ns - carry_elapsed_ns(c),
		.edge_ns = edge_ns,
		.steps = c->steps,
		.gross_ns = c->gross_ns,
		.wasted_ns = c->wasted_ns,
	};
	memcpy(t->past_ns, c->ns, sizeof(t->past_ns));
	/* the handoff does not contain the types of custom events */
	t->past_types_ns[LEDGER_REST] = c->ns[BUCKET_CUSTOM];
}

/* Opens a disruption with an unknown cause at the last known instant: the other node did not see
 * the job end, so if the job continues here, it was disrupted. */
static void carry_unseen(struct job *j, const struct carry *c, uint64_t edge_ns)
{
	j->disrupted = j->unreported = true;
	j->disruption = (struct job_disruption){
		.why = {.cause = CAUSE_unseen, .rank = -1, .exit_code = -1},
		.d = {.at_ns = edge_ns,
		      .step = c->last_step ? (int64_t)c->last_step : DISRUPTION_NO_STEP,
		      .resumed_step = DISRUPTION_NO_STEP},
	};
}

/* Keeps the counts of causes seen on this node if the other node's number of disruptions includes
 * them, which is so if the job ran here before it ran there. Otherwise resets them. */
static void carry_causes(struct job *j, uint64_t disruptions)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < j->ncauses; i++)
		sum += j->causes[i].count;
	if (sum <= disruptions)
		return;
	memset(j->causes, 0, sizeof(j->causes));
	j->ncauses = 0;
}

static void carry_disruption(struct job *j, const struct carry *c, uint64_t edge_ns)
{
	uint64_t since_ns = (uint64_t)(c->until_ns - c->disrupted_ns);

	job_disruption_settle(j);
	j->disrupted = j->unreported = false;
	memset(&j->disruption, 0, sizeof(j->disruption));
	memset(j->disruptions, 0, sizeof(j->disruptions));
	carry_causes(j, c->disruptions);
	memcpy(j->disruption_past_ns, c->ns, sizeof(j->disruption_past_ns));
	j->ndisruptions = j->carried_disruptions = c->disruptions;
	if (c->disrupted) {
		j->disrupted = true;
		j->unreported = c->unreported;
		j->disruption = c->disruption;
		j->disruption.number = c->unreported ? 0 : c->disruptions;
		j->disruption.d.at_ns = edge_ns - since_ns;
		j->disruption.d.resumed_step = DISRUPTION_NO_STEP;
		take_up_to(&j->disruption_past_ns[BUCKET_RECOVERY], since_ns);
		if (!c->unreported) {
			j->carried_disruptions--;
			j->disruptions[(j->ndisruptions - 1) % JOB_DISRUPTIONS] = j->disruption;
		}
	} else if (c->state != JOB_ENDED) {
		carry_unseen(j, c, edge_ns);
	}
}

static int carry_saved(struct job *j, const struct carry *c)
{
	const struct carry_saved *s = &c->saved;
	struct checkpoint_name n = checkpoint_name(s->path);
	struct checkpoint k = {
		.step = s->step,
		.stepped = s->stepped,
		.folder = s->folder,
		.files = s->filed,
		.bytes = s->file.bytes,
		.file = {{.name = s->file.name,
			  .bytes = s->file.bytes,
			  .mtime_ns = s->file.mtime_ns}},
		.format = n.format,
		.numbered = n.numbered,
		.named_step = n.step,
		.likely = true,
		.whole = true,
	};
	int err = 0;

	checkpoints_free(j->files);
	j->files = NULL;
	j->npoints = 0;
	if (c->secures)
		err = job_point_add(j, c->secured_step, c->secured_ns);
	if (!c->saves)
		return err;
	memcpy(k.path, s->path, sizeof(k.path));
	j->files = checkpoints_new();
	if (!j->files || checkpoints_know(j->files, &k))
		err = -ENOMEM;
	return err;
}

int jobs_carry(struct model_env *env, const struct carry *c, uint64_t now_ns)
{
	int64_t real_ns = anchors_real(&env->anchors, now_ns), ago_ns = real_ns - c->until_ns;
	struct job *j = NULL;
	uint64_t edge_ns;
	int err;

	if (!real_ns)
		return 0;
	err = jobs_named(env, c->job, c->uid, &j);
	if (err || !j || j->members || j->runs >= c->attempt)
		return err;
	edge_ns = now_ns - (ago_ns > 0 ? (uint64_t)ago_ns : 0);
	edge_ns += !edge_ns; /* edge_ns must not be 0, which means that there is no time yet */
	carry_time(j, c, edge_ns);
	if (!j->since_real_ns)
		j->since_real_ns = c->until_ns - (int64_t)carry_elapsed_ns(c);
	carry_disruption(j, c, edge_ns);
	j->work = (struct job_work){
		.made = c->steps,
		.lost = c->lost,
		.excluded = (double)smaller_of(c->excluded, c->steps),
	};
	err = carry_saved(j, c);
	j->state = c->state == JOB_RUNNING ? JOB_DOWN : c->state;
	j->runs = j->based_run = j->carried_runs = c->attempt;
	j->run_start_ns = edge_ns - (uint64_t)(c->until_ns - c->run_ns);
	j->last_step = j->step_base = c->last_step;
	j->starts = c->disrupted ? c->disruption.d.starts : 0;
	j->headway_step = c->secures ? c->secured_step : 0;
	j->failed_ns = 0;
	j->joins = true;
	return err;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void job_carry_leave_saved(const struct job *j, uint64_t now_ns, struct carry *ret)
{
	const struct checkpoint *k = j->files ? checkpoints_newest(j->files, now_ns) : NULL;
	const struct job_point *p = job_point_of(j, k ? k->step : UINT64_MAX);
	const struct checkpoint_file *f;
	uint32_t last;

	ret->secures = p;
	if (p) {
		ret->secured_step = p->step;
		ret->secured_ns = p->goodput_ns;
	}
	ret->saves = k;
	if (!k)
		return;
	ret->saved.step = k->step;
	ret->saved.stepped = k->stepped;
	ret->saved.folder = k->folder;
	memcpy(ret->saved.path, k->path, sizeof(ret->saved.path));
	ret->saved.filed = k->files;
	if (!k->files)
		return;
	last = smaller_of(k->files, CHECKPOINT_FILES);
	f = &k->file[last ? last - 1 : 0];
	ret->saved.file.name = f->name;
	ret->saved.file.bytes = f->bytes;
	ret->saved.file.mtime_ns = f->mtime_ns;
}

bool job_reported_here(const struct job *j)
{
	return !j->joins && j->runs &&
	       (j->standing[JOB_STANDS_first] || !j->standing[JOB_STANDS_later]);
}

bool job_carry(const struct model_env *env, const struct job *j, uint64_t now_ns, struct carry *ret)
{
	struct ledger_view v;

	if (!*j->name || !job_reported_here(j) || j->from > GP_JOB_FROM_torchelastic)
		return false;
	job_time_view(j, j->ref ? now_ns : j->time.edge_ns, &v);
	*ret = (struct carry){
		.attempt = j->runs,
		.state = j->members ? JOB_RUNNING : j->state,
		.until_ns = anchors_real(&env->anchors, v.now_ns),
		.run_ns = anchors_real(&env->anchors, j->run_start_ns),
		.last_step = j->last_step,
		.steps = v.steps,
		.lost = j->work.lost,
		.excluded = (uint64_t)(j->work.excluded + 0.5),
		.gross_ns = v.productive_gross_ns,
		.wasted_ns = j->time.wasted_ns,
		.disruptions = j->ndisruptions,
		.disrupted = j->disrupted,
		.unreported = j->disrupted && j->unreported,
		.disruption = j->disruption,
	};
	memcpy(ret->job, j->name, sizeof(ret->job));
	memcpy(ret->uid, j->uid, sizeof(ret->uid));
	memcpy(ret->ns, v.ns, sizeof(ret->ns));
	ret->run_ns = ret->run_ns < ret->until_ns ? ret->run_ns : ret->until_ns;
	if (j->disrupted)
		ret->disrupted_ns = ret->until_ns -
				    (job_before(j->disruption.d.at_ns, v.now_ns)
					     ? (int64_t)(v.now_ns - j->disruption.d.at_ns)
					     : 0);
	job_carry_leave_saved(j, v.now_ns, ret);
	return ret->until_ns > 0;
}
