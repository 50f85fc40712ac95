/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/rank.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "userspace/base/clock.h"
#include "userspace/base/grow.h"
#include "userspace/base/plural.h"

void rank_fact(const struct rank *r, struct fact *f, uint64_t mono_ns)
{
	const struct fact_life life = {
		.run_start_ns = job_run_start(r),
		.alive = r->alive,
		.status = r->status,
		.group_from_ns = r->start.group_from_ns,
		.group_to_ns = r->start.group_to_ns,
		.loader_from_ns = r->start.loader_from_ns,
		.loader_to_ns = r->start.loader_to_ns,
		.scheduling = job_scheduling(r),
	};

	f->number = ++r->env->facts;
	f->mono_ns = mono_ns;
	f->real_ns = anchors_real(&r->env->anchors, mono_ns);
	f->pid = r->pid;
	f->start_ns = r->start_ns;
	f->run = r->run;
	f->rank = r->process.rank;
	f->world_size = r->process.world_size;
	f->job = job_name_of(r);
	f->place = r->place;
	f->types = &r->env->ranges.types;
	f->life = &life;
	if (r->env->sink)
		r->env->sink(r->env->ctx, f);
	f->life = NULL;
}

void rank_event(struct rank *r, uint64_t mono_ns, const char *fmt, ...)
{
	struct event_view *e = &r->events[r->nevents++ % SNAPSHOT_EVENTS];
	va_list ap;

	e->mono_ns = mono_ns;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

/* ---- spans
 * --------------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void checkpoint_event(struct rank *r, const struct fact_checkpoint *c)
{
	char took[16], step[32] = "", from[48] = "";

	clock_duration(took, sizeof(took), c->end_ns - c->start_ns);
	if (c->match && c->match->step)
		snprintf(from, sizeof(from), ", of step %llu", (unsigned long long)c->match->step);
	if (c->step)
		snprintf(step, sizeof(step), " (step %llu)", (unsigned long long)c->step);
	if (c->restore)
		rank_event(r, c->end_ns, "checkpoint read: %u file%s%s%s", c->files,
			   plural(c->files), from, step);
	else if (!c->closed)
		rank_event(r, c->end_ns, "checkpoint begun, its end was not seen%s%.60s%s",
			   *c->file ? ": " : "", base_name(c->file), step);
	else
		rank_event(r, c->end_ns, "checkpoint saved %sin %s%s%.60s%s",
			   c->async ? "aside " : "", took, *c->file ? ": " : "", base_name(c->file),
			   step);
}

static void tell_checkpoint(struct rank *r, const struct rank_note *n)
{
	struct fact_checkpoint c = {
		.restore = n->span.kind == SPAN_RESTORE,
		.closed = n->span.closed,
		.async = n->span.async,
		.start_ns = n->span.begin_ns,
		.end_ns = n->span.end_ns,
		.step = rank_step_at(r, n->span.tid, n->span.begin_ns),
		.bytes = n->span.bytes,
		.files = n->span.files,
		.file = n->file,
	};
	struct fact f = {.type = FACT_CHECKPOINT, .checkpoint = &c};
	const struct checkpoint *k;

	c.run_step = c.step > r->step_base ? c.step - r->step_base : 0;
	if (c.restore && r->resume_ns >= c.start_ns && r->resume_ns <= c.end_ns)
		c.match = &r->resume.best;
	k = c.restore ? NULL : rank_files_stepped(r, n, c.step);
	if (k)
		c.file = k->path;
	checkpoint_event(r, &c);
	/* What waits under a temporary name secures nothing yet. */
	if (!c.restore && c.closed && (!k || k->whole))
		job_saved(r, c.step);
	rank_fact(r, &f, c.end_ns);
	r->ledger_due = true;
}

static void tell_range(struct rank *r, const struct rank_note *n)
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

static void tell_note(struct rank *r, const struct rank_note *n)
{
	if (n->span.kind == SPAN_EVAL)
		tell_range(r, n);
	else
		tell_checkpoint(r, n);
}

static void notes_drop(struct rank *r, uint32_t n)
{
	r->nnotes -= n;
	memmove(r->notes, r->notes + n, r->nnotes * sizeof(*r->notes));
}

void rank_notes(struct rank *r, uint64_t before_ns)
{
	uint32_t n = 0;

	while (n < r->nnotes && r->notes[n].span.begin_ns < before_ns)
		tell_note(r, &r->notes[n++]);
	if (n)
		notes_drop(r, n);
}

/* In order of time: an evaluation is known later than the checkpoint that follows it. */
static int note_add(struct rank *r, const struct span *s, uint32_t pid)
{
	struct rank_note *n;
	uint32_t i;

	if (r->nnotes == RANK_NOTES) {
		if (r->trainer) /* of a process that only reads files nothing is told */
			tell_note(r, &r->notes[0]);
		notes_drop(r, 1);
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
	};
	struct rank *r = ctx;
	struct rank *trains = !r->trainer && s->kind == SPAN_SAVE && s->seen ? job_reference(r)
									     : NULL;
	struct span aside = *s;
	int err = 0;

	if (trains) { /* written for it: told with its steps */
		aside.async = true;
		trains->checkpoints++;
		err = note_add(trains, &aside, r->pid);
		r->error = err ? err : r->error;
		return;
	}
	if (!s->async)
		err = ledger_interval(r->ledger, buckets[s->kind], s->begin_ns, s->end_ns);
	if (err)
		r->error = err;
	if (s->kind == SPAN_FETCH)
		return;
	r->checkpoints += s->kind == SPAN_SAVE;
	r->restores += s->kind == SPAN_RESTORE;
	if (s->kind == SPAN_SAVE) {
		r->save_ns += s->end_ns - s->begin_ns;
		if (s->end_ns - s->begin_ns > r->longest_save_ns)
			r->longest_save_ns = s->end_ns - s->begin_ns;
	}
	err = note_add(r, s, r->pid);
	r->error = err ? err : r->error;
}

/* About us, not about the process: told at once. */
void rank_tell_gap(struct rank *r, uint64_t from_ns, uint64_t now_ns)
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

/* ---- ledger, end
 * ---------------------------------------------------------------------------------- */

void rank_tell_ledger(struct rank *r, uint64_t now_ns)
{
	struct ledger_view v;
	struct fact f = {.type = FACT_LEDGER, .ledger = &v};

	rank_tell_windows(r, now_ns);
	ledger_view(r->ledger, &v);
	v.disruptions = r->disruptions;
	r->ledger_told_ns = now_ns;
	r->ledger_due = false;
	rank_fact(r, &f, now_ns);
}

static const char *cause_of(const struct rank *r, int sig)
{
	if (!sig)
		return "exit";
	if (r->oom && sig == SIGKILL)
		return "oom";
	switch (sig) {
	case SIGKILL:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
	case SIGUSR1:
	case SIGUSR2:
		return "killed";
	default: /* a fault, or abort(), of its own; unless somebody else sent it */
		return r->killed.signal == (uint32_t)sig && r->killed.sender &&
				       r->killed.sender != r->pid
			       ? "killed"
			       : "crashed";
	}
}

static bool clean_end(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGINT;
	/* Shells and Python report an interrupt as 128 + SIGINT. */
	return !WEXITSTATUS(status) || WEXITSTATUS(status) == 128 + SIGINT;
}

/* Somebody else asked it to end, and a while later it did: a preemption, as a rule. */
static bool asked_to_end(const struct rank *r, uint64_t now_ns)
{
	return r->killed.sender && r->killed.sender != r->pid &&
	       now_ns - r->killed_ns <= JOB_GRACE_NS &&
	       (r->killed.signal == SIGTERM || r->killed.signal == SIGUSR1 ||
		r->killed.signal == SIGUSR2);
}

/* What was done to its pod, or to its node, says more than the signal, or the status, that came of
 * it. */
static bool notice_cause(const struct rank *r, uint64_t now_ns, struct job_cause *why)
{
	uint64_t since_ns = now_ns > JOB_GRACE_NS ? now_ns - JOB_GRACE_NS : 0;
	unsigned what = notices_find(&r->env->notices, r->place ? r->place->pod_uid : "", since_ns,
				     now_ns);

	return what && job_cause_noticed(why, what);
}

void rank_fell(struct rank *r, uint64_t now_ns, bool replaced)
{
	int sig = !replaced && WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
	bool sent = sig && r->killed.signal == (uint32_t)sig,
	     clean = !replaced && clean_end(r->status), noticed;
	struct job_cause why = {
		.exit_code = sig || replaced ? -1 : WEXITSTATUS(r->status),
		.signal = sig,
		.sender = sent ? r->killed.sender : 0,
	};

	snprintf(why.cause, sizeof(why.cause), "%s",
		 replaced ? "exec"
		 : clean  ? "asked"
			  : cause_of(r, sig));
	rank_fault_cause(r, now_ns, &why);
	if (sent)
		event_text(why.sender_comm, sizeof(why.sender_comm), r->killed.comm,
			   sizeof(r->killed.comm));
	noticed = notice_cause(r, now_ns, &why);
	if (clean)
		job_fell(r, now_ns, noticed || asked_to_end(r, now_ns) ? &why : NULL, true);
	else
		r->disruptions += job_fell(r, now_ns, &why, false);
}
