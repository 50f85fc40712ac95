/* SPDX-License-Identifier: Apache-2.0 */
/* rank_report.c - reports checkpoints, named ranges and the ledger of a process as facts. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/clock.h"
#include "userspace/base/grow.h"
#include "userspace/base/plural.h"
#include "userspace/base/number.h"

/* ---- spans ----------------------------------------------------------------------------------- */

static const char *rank_report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void rank_report_checkpoint_event(struct rank *r, const struct fact_checkpoint *c)
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
			   *c->file ? ": " : "", rank_report_base_name(c->file), step);
	else
		rank_event(r, c->end_ns, "checkpoint saved %sin %s%s%.60s%s",
			   c->async ? "in the background " : "", took, *c->file ? ": " : "",
			   rank_report_base_name(c->file), step);
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
	c.run_step = more_than(c.step, r->member.step_base);
	if (c.restore && r->resume_ns >= c.start_ns && r->resume_ns <= c.end_ns)
		c.match = &r->member.resume.best;
	if (k)
		c.file = k->path;
	rank_report_checkpoint_event(r, &c);
	/* Progress is secured only by a complete checkpoint. While its file has a temporary name,
	 * it is not complete. */
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

static void rank_report_notes_drop(struct rank *r, uint32_t n)
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
		rank_report_notes_drop(r, n);
}

/* Adds a checkpoint or range to those that wait to be reported. They are sorted by time, because an
 * evaluation may become known after a checkpoint that began later. */
static int rank_report_note_add(struct rank *r, const struct span *s, uint32_t pid)
{
	struct rank_note *n;
	uint32_t i;

	if (r->nnotes == RANK_NOTES) {
		/* do not report checkpoints of a process that does not train */
		if (r->trainer)
			rank_report_note(r, &r->notes[0]);
		rank_report_notes_drop(r, 1);
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

	/* a process that does not train wrote a checkpoint of the job: report it for the reference
	 * rank */
	if (trains) {
		aside.async = true;
		trains->checkpoints++;
		err = rank_report_note_add(trains, &aside, r->member.pid);
		r->error = err ? err : r->error;
		return;
	}
	if (!s->async)
		err = ledger_interval(r->member.ledger, buckets[s->kind], s->begin_ns, s->end_ns);
	if (err)
		r->error = err;
	if (s->kind == SPAN_FETCH && !s->async)
		rank_input_wait(r, s->begin_ns, s->end_ns);
	if (s->kind == SPAN_FETCH || s->kind == SPAN_HANDOVER)
		return;
	r->checkpoints += s->kind == SPAN_SAVE;
	r->restores += s->kind == SPAN_RESTORE;
	if (s->kind == SPAN_SAVE) {
		r->save_ns += s->end_ns - s->begin_ns;
		if (s->end_ns - s->begin_ns > r->longest_save_ns)
			r->longest_save_ns = s->end_ns - s->begin_ns;
	}
	err = rank_report_note_add(r, s, r->member.pid);
	r->error = err ? err : r->error;
}

/* Reports a gap in observation at once. Unlike checkpoints and ranges, it does not wait for earlier
 * steps. */
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

/* ---- ledger ---------------------------------------------------------------------------------- */

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
