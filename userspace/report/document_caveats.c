/* SPDX-License-Identifier: Apache-2.0 */
/* The caveats of a report: what is estimated, and what was not observed. */
#include <stdarg.h>
#include <stdio.h>

#include "userspace/base/clock.h"
#include "userspace/base/plural.h"
#include "userspace/report/document.h"
#include "userspace/text/format.h"

__attribute__((format(printf, 2, 3))) static void document_say_one(struct report_document *s,
								   const char *fmt, ...)
{
	va_list args;

	if (s->ncaveats == DOCUMENT_CAVEATS)
		return;
	va_start(args, fmt);
	vsnprintf(s->caveats[s->ncaveats++], sizeof(s->caveats[0]), fmt, args);
	va_end(args);
}

static void document_say_time(struct report_document *s)
{
	uint64_t unseen_ns = s->ledger.ns[BUCKET_UNOBSERVED],
		 watched_ns = s->totals.excluded_ns - s->totals.cut_ns;
	char took[WORD_MAX];

	if (unseen_ns)
		document_say_one(
			s,
			"%s was not observed: gp-bpf was not running, lost records, or the machine slept. Shares are of the observed time.",
			clock_duration(took, WORD_MAX, unseen_ns));
	if (watched_ns)
		document_say_one(s,
				 "%s was left out while watching: exactly the times of --exclude.",
				 clock_duration(took, WORD_MAX, watched_ns));
	if (s->totals.cut_ns)
		document_say_one(
			s, "%s was left out of this report: all minutes that an exclusion touches.",
			clock_duration(took, WORD_MAX, s->totals.cut_ns));
	if (s->span.from_ns || s->span.to_ns)
		document_say_one(
			s,
			"The report covers whole minutes: each minute that the requested span touches.");
	if (s->totals.estimated)
		document_say_one(
			s,
			"Estimated: time that is known only as a whole was divided in proportion to its length in the span.");
}

static void document_say_carried(struct report_document *s)
{
	uint64_t steps = s->job.totals.steps > s->steps ? s->job.totals.steps - s->steps : 0;

	if (s->elsewhere)
		document_say_one(
			s,
			"%u of the job's runs were on other nodes, with %llu steps: their time is in the sums, but their step times, checkpoints and accelerators are missing. Runs are ordered by the nodes' clocks, which differ; time between runs counts as down.",
			s->elsewhere, (unsigned long long)steps);
}

void document_say_disruptions(struct report_document *s)
{
	uint64_t guessed = 0;
	const char *how = "";

	for (uint32_t i = 0; i < s->disruptions.count; i++) {
		const struct disruption_row *d = DOCUMENT_AT(s->disruptions, struct disruption_row,
							     i);

		if (!d->estimated || !d->over)
			continue;
		how = d->how;
		guessed++;
	}
	if (guessed)
		document_say_one(
			s,
			"Estimated: the step from which the job continued, and so the wasted time, after %llu of %llu disruptions%s%s.",
			(unsigned long long)guessed, (unsigned long long)s->ledger.disruptions,
			*how ? "; the last: " : "", how);
	if (s->unrecovered)
		document_say_one(
			s,
			"No step was seen after %llu of %llu disruptions: their cost is unknown.",
			(unsigned long long)s->unrecovered,
			(unsigned long long)s->ledger.disruptions);
	if (s->disruptions.earlier)
		document_say_one(
			s,
			"The last %u disruptions are listed; %llu earlier %s in the numbers only.",
			s->disruptions.count, (unsigned long long)s->disruptions.earlier,
			s->disruptions.earlier == 1 ? "one is" : "ones are");
	if (s->runs.earlier)
		document_say_one(
			s, "The last %u runs are listed; %llu earlier %s in the numbers only.",
			s->runs.count, (unsigned long long)s->runs.earlier,
			s->runs.earlier == 1 ? "one is" : "ones are");
}

static void document_say_steps(struct report_document *s)
{
	const struct sketch *t = &s->totals.times;
	uint64_t untimed = s->steps > t->count ? s->steps - t->count : 0;

	if (!s->steps) {
		document_say_one(s, document_left_out(s)
					    ? "All of the time was left out: no figures of steps."
					    : "No step was seen.");
		return;
	}
	if (s->job.max_step > 0 && s->steps > (uint64_t)s->job.max_step)
		document_say_one(
			s,
			"More steps were made than the highest step number: a restart repeats steps, and each loop or training numbers its own steps.");
	if (untimed && s->job.logged)
		document_say_one(
			s,
			"%llu of %llu steps have no step time: the log does not say where each began and ended.",
			(unsigned long long)untimed, (unsigned long long)s->steps);
	else if (untimed)
		document_say_one(
			s,
			"%llu of %llu steps have no step time: they contain a hang or lost records, or their beginning was not seen.",
			(unsigned long long)untimed, (unsigned long long)s->steps);
	if (!t->count)
		return;
	document_say_one(
		s,
		"Step times are those of the %s; quantiles are within %.1f %%, least and greatest exact.",
		s->job.logged ? "log" : "reference rank", 100 * sketch_error(t));
	if (s->times.ideal_ns)
		document_say_one(
			s,
			"Estimated: the ideal step, as the mean of step times up to the median plus three times the median deviation.");
	if (s->every_step && s->curve->count != t->count)
		document_say_one(
			s, "The chart of step times has %llu step%s, of %llu that have a time.",
			(unsigned long long)s->curve->count, plural(s->curve->count),
			(unsigned long long)t->count);
	if (!s->every_step)
		document_say_one(
			s,
			"The store keeps step times by the minute: the chart shows minimum, median and maximum of each minute or more, not each step.");
}

static void document_say_log(struct report_document *s)
{
	document_say_one(
		s,
		"This job was not watched, but imported from its log. Time, steps and disruptions are those of gp-bpf account (closed semantics); a log has no causes, ranks and sizes.");
	document_say_one(
		s,
		"Steps that a restart disproved are not counted; a step time is the average of the steps of one record, without marked time.");
}

static void document_say_ranks(struct report_document *s)
{
	const struct document_rank *r = s->ranks.count
						? DOCUMENT_AT(s->ranks, struct document_rank, 0)
						: NULL;

	if (!r || s->job.logged)
		return;
	if (r->rank.rank < 0)
		document_say_one(
			s,
			"Rank numbers are unknown: figures are those of the process that made the first step.");
	if (*r->rank.tier && *r->rank.tier != 'A')
		document_say_one(
			s,
			"Steps were found by %s (tier %s): where a step ends is deduced, not announced.",
			*r->rank.marker ? r->rank.marker : "an unnamed marker", r->rank.tier);
	if (s->ranks.earlier)
		document_say_one(s, "Only the first %u ranks are compared; there %s %llu more.",
				 s->ranks.count, s->ranks.earlier == 1 ? "is" : "are",
				 (unsigned long long)s->ranks.earlier);
}

void document_say(struct report_document *s)
{
	if (s->unreadable)
		document_say_one(
			s,
			"Some sums or step times in the store could not be read: their figures are missing here.");
	if (s->job.logged)
		document_say_log(s);
	if (s->job.alive)
		document_say_one(
			s,
			"The job had not ended when it was last seen: the figures cover the time until then.");
	document_say_time(s);
	document_say_carried(s);
	document_say_disruptions(s);
	document_say_steps(s);
	document_say_ranks(s);
	if (!s->checkpoints.count)
		document_say_one(s, s->job.logged ? "The log has no checkpoint."
						  : "No checkpoint was seen.");
	if (s->restores_guessed)
		document_say_one(
			s,
			"Estimated or unknown: the step of the checkpoint that was read, for %llu of %llu restores.",
			(unsigned long long)s->restores_guessed, (unsigned long long)s->restores);
}
