/* SPDX-License-Identifier: Apache-2.0 */
/* rank_change.c - a loop of a rank becomes slower than usual, or recovers: evidence and fact. */
#include "userspace/model/rank/rank_private.h"

#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"

static void rank_change_add_grown(const struct change_view *v, char *out, size_t len)
{
	const char *separator = ": ";
	size_t at = strlen(out);
	char more[16];

	for (int i = 0; i < CHANGE_PARTS; i++) {
		bool known = i == PHASE_COUNT ? v->parts_known : v->parts_known & 1u << i;

		/* Parts of less than a tenth of the growth are not listed. */
		if (!known || v->grown_ns[i] <= 0 ||
		    v->grown_ns[i] < ((int64_t)v->after_ns - (int64_t)v->before_ns) / 10)
			continue;
		at += (size_t)snprintf(
			out + at, len - at, "%s%s +%s", separator, change_part_name(i),
			clock_duration(more, sizeof(more), (uint64_t)v->grown_ns[i]));
		separator = ", ";
	}
}

static void change_evidence(const struct change_view *v, char *out, size_t len)
{
	char before[24], after[24], period[48];

	clock_durations(before, after, sizeof(before), v->before_ns, v->after_ns);
	if (v->slow) {
		snprintf(out, len,
			 "steps take %s instead of %s%s since step %llu, noticed at step %llu",
			 after, before, v->mean ? " in the mean" : "",
			 (unsigned long long)v->onset_step, (unsigned long long)v->noticed_step);
		if (v->period)
			snprintf(out + strlen(out), len - strlen(out), "; %s",
				 change_period_text(period, sizeof(period), v));
		rank_change_add_grown(v, out, len);
		return;
	}
	snprintf(out, len, "steps took %s instead of %s from step %llu to step %llu%s", after,
		 before, (unsigned long long)v->onset_step, (unsigned long long)v->end_step - 1,
		 !v->incomparable ? ""
		 : v->other_optimizer
			 ? "; from there on another optimizer makes them"
			 : "; from there on they hold another number of micro-batches");
}

void rank_change(struct rank *r, struct rank_loop *lp, const struct fact_step *fs)
{
	enum change_event event = change_step(lp->change, fs);
	char evidence[256];
	struct fact_health health = {.loop = fs->step.loop, .why = "unknown", .evidence = evidence};
	struct fact f = {.type = FACT_HEALTH, .health = &health};
	struct change_view v;

	if (event == CHANGE_NONE)
		return;
	change_view(lp->change, &v);
	change_evidence(&v, evidence, sizeof(evidence));
	health.over = event == CHANGE_RECOVERED;
	health.kind = health.over ? "recovered" : "fail_slow";
	health.onset_ns = v.onset_ns;
	health.onset_step = v.onset_step;
	health.end_ns = v.end_ns;
	health.end_step = v.end_step;
	health.size_ns = v.after_ns > v.before_ns ? v.after_ns - v.before_ns : 0;
	health.period = v.period;
	health.ratio = v.before_ns ? (double)v.after_ns / (double)v.before_ns : 0;
	health.phase = change_part_name(v.blame);
	if (v.incomparable)
		rank_event(r, fs->step.end_ns, "step %llu and on hold other work: slow before",
			   (unsigned long long)v.end_step);
	else if (health.over)
		rank_event(r, fs->step.end_ns, "fast again since step %llu, slow since step %llu",
			   (unsigned long long)v.end_step, (unsigned long long)v.onset_step);
	else
		rank_event(r, fs->step.end_ns, "slow since step %llu: %+.0f %%%s%s",
			   (unsigned long long)v.onset_step, 100 * (health.ratio - 1),
			   *health.phase ? ", " : "", health.phase);
	rank_fact(r, &f, fs->step.end_ns);
}
