/* SPDX-License-Identifier: Apache-2.0 */
/* rank_fact.c - checkpoints, ranges, the ledger and the end of a process as facts. */
#include "userspace/model/rank/rank_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/base/clock.h"
#include "userspace/base/grow.h"
#include "userspace/base/plural.h"

/* ---- spans ----------------------------------------------------------------------------------- */

static const char *rank_fact_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void rank_fact_checkpoint_event(struct rank *r, const struct fact_checkpoint *c)
{
	char took[16], step[48] = "", from[48] = "";

	clock_duration(took, sizeof(took), c->end_ns - c->start_ns);
	if (c->match && c->match->step)
		snprintf(from, sizeof(from), ", of step %llu", (unsigned long long)c->match->step);
	if (c->step)
		snprintf(step, sizeof(step), " (%sstep %llu)", c->estimated ? "about " : "",
			 (unsigned long long)c->step);
	if (c->restore)
		rank_event(r, c->end_ns, "checkpoint read: %u file%s%s%s", c->files,
			   plural(c->files), from, step);
	else if (!c->closed)
		rank_event(r, c->end_ns, "checkpoint begun, its end was not seen%s%.60s%s",
			   *c->file ? ": " : "", rank_fact_base_name(c->file), step);
	else
		rank_event(r, c->end_ns, "checkpoint saved %sin %s%s%.60s%s",
			   c->async ? "aside " : "", took, *c->file ? ": " : "",
			   rank_fact_base_name(c->file), step);
}

static void rank_report_checkpoint(struct rank *r, const struct rank_note *n)
{
	struct fact_checkpoint c = {
		.restore = n->span.kind == SPAN_RESTORE,
		.closed = n->span.closed,
		.async = n->span.async,
		.start_ns = n->span.begin_ns,
		.end_ns = n->span.end_ns,
		.bytes = n->span.bytes,
		.files = n->span.files,
		.file = n->file,
	};
	struct fact f = {.type = FACT_CHECKPOINT, .checkpoint = &c};
	const struct checkpoint *k = NULL;

	if (c.restore)
		c.step = rank_step_at(r, n->span.tid, n->span.begin_ns, NULL);
	else
		k = rank_files_stepped(r, n, &c.step, &c.estimated);
	c.run_step = c.step > r->member.step_base ? c.step - r->member.step_base : 0;
	if (c.restore && r->resume_ns >= c.start_ns && r->resume_ns <= c.end_ns)
		c.match = &r->member.resume.best;
	if (k)
		c.file = k->path;
	rank_fact_checkpoint_event(r, &c);
	/* A checkpoint with a temporary name secures nothing yet. */
	if (!c.restore && c.closed && (!k || k->whole))
		rank_saved(r, c.step);
	rank_fact(r, &f, c.end_ns);
	r->ledger_due = true;
}

static void rank_report_range(struct rank *r, const struct rank_note *n)
{
	struct fact_range range = {
		.name = "evaluation",
		.bucket = BUCKET_EVAL,
		.start_ns = n->span.begin_ns,
		.end_ns = n->span.end_ns,
	};
	struct fact f = {.type = FACT_RANGE, .range = &range};
	char took[16];

	rank_event(r, range.end_ns, "evaluation of %s",
		   clock_duration(took, sizeof(took), range.end_ns - range.start_ns));
	rank_fact(r, &f, range.end_ns);
}

static void rank_report_note(struct rank *r, const struct rank_note *n)
{
	if (n->span.kind == SPAN_EVAL)
		rank_report_range(r, n);
	else
		rank_report_checkpoint(r, n);
}

static void rank_fact_notes_drop(struct rank *r, uint32_t n)
{
	r->nnotes -= n;
	memmove(r->notes, r->notes + n, r->nnotes * sizeof(*r->notes));
}

void rank_notes(struct rank *r, uint64_t before_ns)
{
	uint32_t n = 0;

	while (n < r->nnotes && r->notes[n].span.begin_ns < before_ns)
		rank_report_note(r, &r->notes[n++]);
	if (n)
		rank_fact_notes_drop(r, n);
}

/* In order of time: an evaluation is known later than the checkpoint that follows it. */
static int rank_fact_note_add(struct rank *r, const struct span *s, uint32_t pid)
{
	struct rank_note *n;
	uint32_t i;

	if (r->nnotes == RANK_NOTES) {
		if (r->trainer) /* of a process that only reads files nothing is reported */
			rank_report_note(r, &r->notes[0]);
		rank_fact_notes_drop(r, 1);
	}
	n = grow_items(r->notes, &r->notes_cap, r->nnotes + 1, RANK_NOTES, sizeof(*n));
	if (!n)
		return -ENOMEM;
	r->notes = n;
	for (i = r->nnotes; i && r->notes[i - 1].span.begin_ns > s->begin_ns; i--)
		;
	n = &r->notes[i];
	memmove(n + 1, n, (r->nnotes++ - i) * sizeof(*n));
	n->span = *s;
	n->span.file = NULL;
	n->pid = pid;
	snprintf(n->file, sizeof(n->file), "%s", s->file);
	return 0;
}

void rank_span(void *ctx, const struct span *s)
{
	static const enum bucket buckets[] = {
		[SPAN_FETCH] = BUCKET_DATA_LOADING,
		[SPAN_EVAL] = BUCKET_EVAL,
		[SPAN_SAVE] = BUCKET_CHECKPOINT_SAVE,
		[SPAN_RESTORE] = BUCKET_CHECKPOINT_RESTORE,
		[SPAN_HANDOVER] = BUCKET_CHECKPOINT_SAVE,
	};
	struct rank *r = ctx;
	struct rank *trains = !r->trainer && s->kind == SPAN_SAVE && s->seen ? rank_reference(r)
									     : NULL;
	struct span aside = *s;
	int err = 0;

	if (trains) { /* written for it: reported with its steps */
		aside.async = true;
		trains->checkpoints++;
		err = rank_fact_note_add(trains, &aside, r->member.pid);
		r->error = err ? err : r->error;
		return;
	}
	if (!s->async)
		err = ledger_interval(r->member.ledger, buckets[s->kind], s->begin_ns, s->end_ns);
	if (err)
		r->error = err;
	if (s->kind == SPAN_FETCH || s->kind == SPAN_HANDOVER)
		return;
	r->checkpoints += s->kind == SPAN_SAVE;
	r->restores += s->kind == SPAN_RESTORE;
	if (s->kind == SPAN_SAVE) {
		r->save_ns += s->end_ns - s->begin_ns;
		if (s->end_ns - s->begin_ns > r->longest_save_ns)
			r->longest_save_ns = s->end_ns - s->begin_ns;
	}
	err = rank_fact_note_add(r, s, r->member.pid);
	r->error = err ? err : r->error;
}

/* About us, not about the process: reported at once. */
void rank_report_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns)
{
	struct fact_range range = {
		.name = "unobserved",
		.bucket = BUCKET_UNOBSERVED,
		.start_ns = from_ns,
		.end_ns = now_ns,
	};
	struct fact f = {.type = FACT_RANGE, .range = &range};
	char took[16];

	if (now_ns <= from_ns)
		return;
	rank_event(r, now_ns, "not watched for %s",
		   clock_duration(took, sizeof(took), now_ns - from_ns));
	rank_fact(r, &f, now_ns);
	r->ledger_due = true;
}

/* ---- ledger, end ----------------------------------------------------------------------------- */

void rank_report_ledger(struct rank *r, uint64_t now_ns)
{
	struct ledger_view v;
	struct fact f = {.type = FACT_LEDGER, .ledger = &v, .unit = UNIT_STEP};

	if (rank_counts(r))
		f.unit = r->loops[0]->state.unit;
	else
		rank_report_windows(r, now_ns);
	ledger_view(r->member.ledger, &v);
	v.disruptions = r->disruptions;
	r->ledger_reported_ns = now_ns;
	r->ledger_due = false;
	rank_fact(r, &f, now_ns);
}

static enum disruption_cause rank_fact_cause_of(const struct rank *r, int sig)
{
	if (!sig)
		return CAUSE_exit;
	if (r->oom && sig == SIGKILL)
		return CAUSE_oom;
	switch (sig) {
	case SIGKILL:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
		return CAUSE_killed;
	default: /* a fault or abort() of its own, unless another process sent the signal */
		return r->killed.signal == (uint32_t)sig && r->killed.sender &&
				       r->killed.sender != r->member.pid
			       ? CAUSE_killed
			       : CAUSE_crashed;
	}
}

static bool rank_fact_clean_end(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGINT;
	/* Shells and Python report an interrupt as 128 + SIGINT. */
	return !WEXITSTATUS(status) || WEXITSTATUS(status) == 128 + SIGINT;
}

/* The step in progress may end after the signal. If another step has begun since, the process did
 * not stop because of the signal. */
static bool rank_was_interrupted(const struct rank *r, uint64_t now_ns)
{
	const struct rank_done *before = r->nloops ? rank_done(r->loops[0], 1) : NULL;

	if (!r->interrupted_ns || now_ns - r->interrupted_ns > JOB_GRACE_NS || r->oom)
		return false;
	if (r->fault.at_ns && !r->fault.weak && r->fault.at_ns < r->interrupted_ns)
		return false;
	return !before || before->from_ns <= r->interrupted_ns;
}

bool rank_ended_clean(const struct rank *r, uint64_t now_ns)
{
	return rank_fact_clean_end(r->status) || rank_was_interrupted(r, now_ns);
}

/* Ray ends the processes of its workers with status 1, whatever came of what they ran. */
bool rank_managed(const struct rank *r)
{
	return !strncmp(r->member.process.comm, "ray::", 5) ||
	       !strncmp(r->member.process.command, "ray::", 5) ||
	       strstr(r->member.process.command, "/ray/_private/workers/default_worker.py");
}

/* Another process asked it to end, and a while later it did: a preemption, as a rule. */
static bool rank_fact_asked_to_end(const struct rank *r, uint64_t now_ns)
{
	return r->killed.sender && r->killed.sender != r->member.pid &&
	       now_ns - r->killed_ns <= JOB_GRACE_NS &&
	       (r->killed.signal == SIGTERM || r->killed.signal == SIGUSR1 ||
		r->killed.signal == SIGUSR2);
}

/* An event of its pod or node says more than the signal or status that it led to. */
static bool rank_fact_notice_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why)
{
	uint64_t since_ns = now_ns > JOB_GRACE_NS ? now_ns - JOB_GRACE_NS : 0;
	unsigned what = notices_find(&r->member.env->notices,
				     r->member.place ? r->member.place->pod_uid : "", since_ns,
				     now_ns);

	return what && job_cause_noticed(why, what);
}

void rank_failed(struct rank *r, uint64_t now_ns, bool replaced)
{
	int sig = !replaced && WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
	bool sent = sig && r->killed.signal == (uint32_t)sig;
	bool clean = !replaced && rank_ended_clean(r, now_ns), noticed;
	struct job_cause why = {
		.exit_code = sig || replaced ? -1 : WEXITSTATUS(r->status),
		.signal = sig,
		.sender = sent ? r->killed.sender : 0,
	};

	why.managed = !sig && !replaced && !clean && why.exit_code == 1 && rank_managed(r);
	why.cause = replaced ? CAUSE_exec : clean ? CAUSE_asked : rank_fact_cause_of(r, sig);
	rank_fault_cause(r, now_ns, &why);
	if (sent)
		event_text(why.sender_comm, sizeof(why.sender_comm), r->killed.comm,
			   sizeof(r->killed.comm));
	noticed = rank_fact_notice_cause(r, now_ns, &why);
	if (clean)
		job_disrupted(&r->member, now_ns,
			      noticed || rank_fact_asked_to_end(r, now_ns) ? &why : NULL, true);
	else
		r->disruptions += job_disrupted(&r->member, now_ns, &why,
						why.managed && why.cause == CAUSE_exit);
}
