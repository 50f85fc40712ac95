/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/report/document_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/epoch.h"
#include "userspace/base/plural.h"
#include "userspace/text/format.h"

/* Writes a number of bytes in decimal units: "1.2 GB". */
static const char *document_row_bytes(char *out, size_t len, int64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double n = bytes > 0 ? (double)bytes : 0;
	size_t i = 0;

	for (; n >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		n /= 1000;
	snprintf(out, len, n < 9.95 && i ? "%.1f %s" : "%.0f %s", n, units[i]);
	return out;
}

/* Describes a checkpoint: "saved", "saved beside training", "begun, its end was not seen", "read,
 * written after step 600 (path, confidence 0.95)". */
static const char *document_row_checkpoint_words(char *out, size_t len,
						 const struct store_checkpoint *c)
{
	const char *about = c->estimated ? "about " : "";

	if (!c->restore)
		snprintf(out, len, "%s%s",
			 !c->closed ? "begun, its end was not seen"
			 : c->async ? "saved beside training"
				    : "saved",
			 c->estimated ? ", step estimated" : "");
	else if (c->saved_step == STORE_NONE)
		snprintf(out, len, "read, written by this job after no known step");
	else if (isnan(c->confidence))
		snprintf(out, len, "read, written after %sstep %lld", about,
			 (long long)c->saved_step);
	else
		snprintf(out, len, "read, written after %sstep %lld (%s, confidence %.2f)", about,
			 (long long)c->saved_step, *c->known_by ? c->known_by : "unknown",
			 c->confidence < 0   ? 0
			 : c->confidence > 1 ? 1
					     : c->confidence);
	return out;
}

/* Describes the kind of a health event: "hang, stopped", "slower steps", "fast again". */
static const char *document_row_trouble(char *out, size_t len, const struct store_health *h)
{
	const char *kind = h->kind;
	const char *why = time_cause_label_of(h->why);

	if (!strcmp(kind, "fail_slow"))
		kind = "slower steps";
	else if (!strcmp(kind, "recovered"))
		kind = "fast again";
	else if (!strcmp(kind, "straggler"))
		kind = h->over ? "straggler no more" : "straggler";
	else if (!strcmp(kind, "device_error"))
		kind = "device error";
	else if (!strcmp(kind, "communicator_error"))
		kind = "communicator error";
	else if (!strcmp(kind, "out_of_memory"))
		kind = "out of memory";
	snprintf(out, len, "%s%s%s%s%s", kind, *why ? ", " : "", why, *h->phase ? ", " : "",
		 h->phase);
	return out;
}

/* Describes the cost of a health event: "a step took 951 µs more for 50.0 s"; "" if the event's
 * evidence already contains it. */
static const char *document_row_size(char *out, size_t len, const struct store_health *h)
{
	char size[WORD_MAX], lasted[WORD_MAX];

	*out = '\0';
	if (!h->size_ns && h->over) /* errors end without a duration */
		return out;
	clock_duration(size, WORD_MAX, h->size_ns);
	if (!strcmp(h->kind, "fail_slow"))
		snprintf(out, len, "a step takes %s more", size);
	else if (!strcmp(h->kind, "recovered") && h->at_ns > h->onset_ns)
		snprintf(out, len, "a step took %s more for %s", size,
			 clock_duration(lasted, WORD_MAX, (uint64_t)(h->at_ns - h->onset_ns)));
	else if (!strcmp(h->kind, "straggler"))
		snprintf(out, len, "the others wait%s %s in a step", h->over ? "ed" : "", size);
	else
		snprintf(out, len, "%s", size);
	return out;
}

static void document_row_duration(struct document_cell *c, const char *name, int64_t ns)
{
	if (ns < 0) { /* Negative values stand for unknown: DISRUPTION_UNKNOWN, STORE_NONE. */
		snprintf(c->text, sizeof(c->text), "unknown");
		return;
	}
	c->name = name;
	c->value = (uint64_t)ns;
	snprintf(c->text, sizeof(c->text), "0 s");
	if (ns)
		clock_duration(c->text, sizeof(c->text), (uint64_t)ns);
}

/* Fills the cells of a run or rank: steps, median, p99 and goodput. */
static void document_row_steps(struct document_row *r, uint64_t steps, const struct report_times *t,
			       const struct sums *sums)
{
	int64_t good_ns = sums->ns[BUCKET_GOODPUT];

	r->cell[0] = (struct document_cell){.name = "steps_each", .value = steps, .count = true};
	document_row_duration(&r->cell[1], "p50_each", t->count ? (int64_t)t->p50_ns : STORE_NONE);
	document_row_duration(&r->cell[2], "p99_each", t->count ? (int64_t)t->p99_ns : STORE_NONE);
	text_percent(r->cell[3].text, good_ns > 0 ? (uint64_t)good_ns : 0,
		     document_observed_ns(sums));
}

static void document_row_run(struct document_row *r, const struct report_document *s, uint32_t i)
{
	const struct document_run *run = DOCUMENT_AT(s->runs, struct document_run, i);
	int64_t ns = run->run.last_ns - run->run.start_ns;
	char fate[64], ranks[32] = "", took[WORD_MAX];

	r->number = run->run.attempt;
	r->at_ns = run->run.start_ns;
	r->to_ns = run->run.last_ns;
	if (run->run.ranks > 1)
		snprintf(ranks, sizeof(ranks), "%u ranks, ", run->run.ranks);
	snprintf(r->what, sizeof(r->what), "%s%s, %s", ranks,
		 document_fate(fate, sizeof(fate), s, run->run.end_ns, run->run.last_ns,
			       run->run.status),
		 clock_duration(took, WORD_MAX, ns > 0 ? (uint64_t)ns : 0));
	document_row_steps(r, run->steps, &run->times, &run->sums);
}

static void document_row_rank(struct document_row *r, const struct report_document *s, uint32_t i)
{
	const struct document_rank *rank = DOCUMENT_AT(s->ranks, struct document_rank, i);
	char name[WORD_MAX];

	snprintf(r->name, sizeof(r->name), "%s",
		 rank->rank.rank < 0 ? "rank unknown" : text_rank(name, rank->rank.rank, 0));
	snprintf(r->what, sizeof(r->what), "pid %u", rank->rank.pid);
	document_row_steps(r, rank->steps, &rank->times, &rank->sums);
}

/* Writes below the cell which bucket took most of the recovery time. */
static void document_row_split(struct document_cell *c, const struct disruption_row *d)
{
	int most = -1;
	char share[WORD_MAX];

	for (int i = 0; i < BUCKET_COUNT; i++)
		if (d->split_ns[i] > 0 && (most < 0 || d->split_ns[i] > d->split_ns[most]))
			most = i;
	if (most >= 0 && d->recovery_ns > 0)
		snprintf(c->note, sizeof(c->note), "%s %s",
			 text_percent(share, (uint64_t)d->split_ns[most], (uint64_t)d->recovery_ns),
			 bucket_label[most]);
}

static void document_row_disruption(struct document_row *r, const struct report_document *s,
				    uint32_t i)
{
	const struct disruption_row *d = DOCUMENT_AT(s->disruptions, struct disruption_row, i);
	char cause[96], rank[32] = "", starts[32] = "", step[24] = "none", resumed[32] = "";

	r->number = s->disruptions.earlier + i + 1;
	r->at_ns = d->at_ns;
	r->to_ns = d->recovery_ns > 0 ? d->at_ns + d->recovery_ns : d->at_ns;
	if (d->rank >= 0)
		snprintf(rank, sizeof(rank), ", rank %d", d->rank);
	if (d->starts != DISRUPTION_UNKNOWN && d->starts > 1)
		snprintf(starts, sizeof(starts), ", %lld starts", (long long)d->starts);
	snprintf(r->what, sizeof(r->what), "%s%s%s", disruption_cause_text(cause, sizeof(cause), d),
		 rank, starts);
	if (d->step != DISRUPTION_UNKNOWN)
		snprintf(step, sizeof(step), "%lld", (long long)d->step);
	if (d->over && d->resumed_step != DISRUPTION_UNKNOWN)
		snprintf(resumed, sizeof(resumed), " → %lld", (long long)d->resumed_step);
	snprintf(r->cell[0].text, sizeof(r->cell[0].text), "%s%s", step, resumed);
	if (!d->over) {
		snprintf(r->cell[2].text, sizeof(r->cell[2].text), "no step since");
		return;
	}
	document_row_duration(&r->cell[1], "down_ns", d->down_ns);
	document_row_duration(&r->cell[2], "recovery_ns", d->recovery_ns);
	document_row_split(&r->cell[2], d);
	document_row_duration(&r->cell[3], "wasted_ns", d->wasted_ns);
	r->cell[3].estimated = d->estimated;
}

/* Returns true if the text report lists the checkpoint: restores and the last save. Other saves are
 * only summed up. */
static bool document_row_brief(const struct report_document *s, uint32_t i)
{
	bool last = true;

	for (uint32_t k = i + 1; k < s->checkpoints.count; k++)
		last &= DOCUMENT_AT(s->checkpoints, struct store_checkpoint, k)->restore;
	return last || DOCUMENT_AT(s->checkpoints, struct store_checkpoint, i)->restore;
}

static void document_row_checkpoint(struct document_row *r, const struct report_document *s,
				    uint32_t i)
{
	const struct store_checkpoint *k = DOCUMENT_AT(s->checkpoints, struct store_checkpoint, i);
	const char *slash = strrchr(k->file, '/');
	int64_t step = k->restore ? k->saved_step : k->step;
	char words[96], rank[32] = "";

	r->page_only = !document_row_brief(s, i);
	r->restore = k->restore;
	r->at_ns = k->start_ns;
	r->to_ns = k->end_ns;
	r->more = *k->file ? k->file : "no name";
	snprintf(r->name, sizeof(r->name), "%s", slash && slash[1] ? slash + 1 : r->more);
	if (k->rank >= 0)
		snprintf(rank, sizeof(rank), ", rank %d", k->rank);
	snprintf(r->what, sizeof(r->what), "%s%s",
		 document_row_checkpoint_words(words, sizeof(words), k), rank);
	snprintf(r->cell[1].text, sizeof(r->cell[1].text),
		 step == STORE_NONE ? "unknown" : "%s%lld", k->estimated ? "~" : "",
		 (long long)step);
	document_row_duration(&r->cell[2], "checkpoint_ns",
			      k->closed ? k->end_ns - k->start_ns : STORE_NONE);
	if (k->bytes > 0)
		document_row_bytes(r->cell[3].text, sizeof(r->cell[3].text), k->bytes);
	else
		snprintf(r->cell[3].text, sizeof(r->cell[3].text), "unknown");
}

static void document_row_health(struct document_row *r, const struct report_document *s, uint32_t i)
{
	const struct store_health *h = DOCUMENT_AT(s->healths, struct store_health, i);
	char words[96], size[96], rank[32] = "";

	r->hidden = h->minor;
	r->at_ns = r->to_ns = h->at_ns;
	if (!strcmp(h->kind, "hang")) /* Only for a hang is size_ns the duration of the event. */
		r->to_ns += (int64_t)h->size_ns;
	if (h->rank >= 0)
		snprintf(rank, sizeof(rank), " of rank %d", h->rank);
	r->tells_more = !*document_row_size(size, sizeof(size), h);
	snprintf(r->what, sizeof(r->what), "%s%s%s%s%s",
		 document_row_trouble(words, sizeof(words), h), rank, *size ? ", " : "", size,
		 *size && !h->over ? ", not over" : "");
	r->more = h->evidence;
}

static void document_row_mark(struct document_row *r, const struct report_document *s, uint32_t i)
{
	const struct store_note *n = DOCUMENT_AT(s->marks, struct store_note, i);

	r->at_ns = r->to_ns = n->at_ns;
	snprintf(r->what, sizeof(r->what), "%s", n->text);
}

static void document_row_exclusion(struct document_row *r, const struct report_document *s,
				   uint32_t i)
{
	const struct store_note *n = DOCUMENT_AT(s->exclusions, struct store_note, i);
	char text[EPOCH_TEXT_MAX];

	r->at_ns = n->at_ns;
	r->to_ns = n->to_ns;
	snprintf(r->what, sizeof(r->what), "to %s  %s", epoch_text(text, n->to_ns / 1000, 0),
		 n->text);
}

void document_row(struct document_row *ret, const struct document_table *t,
		  const struct report_document *s, uint32_t i)
{
	*ret = (struct document_row){0};
	t->row(ret, s, i);
}

/* ---- tables ---------------------------------------------------------------------------------- */

const struct document_table document_runs_table = {
	.id = "runs",
	.heading = "Runs",
	.caption = "A run ends with its processes; the job continues with the next run.",
	.number = "run",
	.when = "began",
	.what = "how it ended",
	.cell = {"steps", "step time", "p99", "goodput"},
	.class = "good",
	.row = document_row_run,
};

const struct document_table document_disruptions_table = {
	.id = "disruptions",
	.heading = "Disruptions",
	.caption =
		"To a step: from the last sign of life to the next productive step. Down: the part of this time in which no process ran; the rest is in other rows above. Wasted: progress that had to be made again.",
	.number = "#",
	.when = "when",
	.what = "cause",
	.cell = {"step → resumed at", "down", "to a step", "wasted"},
	.class = "bad",
	.bad = true,
	.row = document_row_disruption,
};

const struct document_table document_checkpoints_table = {
	.id = "checkpoints",
	.heading = "Checkpoints",
	.caption =
		"For a checkpoint that was read: the step after which the job wrote it, and how this is known.",
	.when = "when",
	.what = "what",
	.more = "file",
	.cell = {NULL, "holds step", "took", "size"},
	.class = "info",
	.shown = 100,
	.row = document_row_checkpoint,
};

const struct document_table document_ranks_table = {
	.id = "ranks",
	.heading = "Ranks",
	.caption =
		"Ranks that wait for each other have the same step time; compare their goodput to find the rank that the others wait for.",
	.what = "pid",
	.cell = {"steps", "step time", "p99", "goodput"},
	.bar = "side by side",
	.row = document_row_rank,
};

const struct document_table document_trouble_table = {
	.id = "trouble",
	.heading = "Hangs, slowdowns, stragglers, errors",
	.caption =
		"Hang: its duration. Slowdown: additional time of a step. Straggler: time that the other ranks waited in a step.",
	.when = "when",
	.what = "what",
	.more = "evidence",
	.class = "bad",
	.bad = true,
	.row = document_row_health,
};

const struct document_table document_marks_table = {
	.id = "marks",
	.heading = "Marks",
	.caption = "Notes on this job.",
	.when = "when",
	.what = "text",
	.class = "mark",
	.row = document_row_mark,
};

const struct document_table document_exclusions_table = {
	.id = "left-out",
	.heading = "Left out",
	.caption = "Time that is not part of any figure here.",
	.when = "from",
	.what = "why",
	.class = "none",
	.row = document_row_exclusion,
};
