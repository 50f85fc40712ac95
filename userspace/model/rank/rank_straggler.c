/* SPDX-License-Identifier: Apache-2.0 */
/* rank_straggler.c - reports when the other ranks of a job wait for this one (a straggler), and
 * when they no longer do. */
#include "userspace/base/clock.h"
#include "userspace/model/rank/rank_private.h"
#include "userspace/model/time/straggler.h"

static void rank_straggler_report(struct rank *r, const char *evidence, uint64_t now_ns, bool over)
{
	const struct straggle_view *v = &r->straggle;
	const struct fact_health health = {
		.kind = "straggler",
		.onset_ns = v->onset_ns,
		.size_ns = v->size_ns,
		.over = over,
		.why = "unknown",
		.phase = v->phase,
		.evidence = evidence,
		.step = v->onset_step,
	};
	struct fact f = {.type = FACT_HEALTH, .health = &health};

	rank_fact(r, &f, now_ns);
}

static void rank_straggler_found(struct rank *r, const struct straggler_view *s, uint64_t now_ns)
{
	struct straggle_view *v = &r->straggle;
	char evidence[200], size[16];

	*v = (struct straggle_view){
		.now = true,
		.count = v->count + 1,
		.onset_ns = s->onset_ns,
		.onset_step = s->onset_step,
		.size_ns = s->size_ns,
	};
	snprintf(v->phase, sizeof(v->phase), "%s", change_part_name(s->phase));
	clock_duration(size, sizeof(size), v->size_ns);
	snprintf(
		evidence, sizeof(evidence),
		"it waits least of %u ranks in %u of %u steps; the others wait %s longer in each%s%s",
		job_members(&r->member), s->late, s->of, size,
		*v->phase ? "; its own time goes to " : "", v->phase);
	rank_event(r, now_ns, "straggler since step %llu: the others wait %s for it in a step%s%s",
		   (unsigned long long)v->onset_step, size, *v->phase ? ", " : "", v->phase);
	rank_straggler_report(r, evidence, now_ns, false);
}

void rank_straggler_over(struct rank *r, uint64_t now_ns)
{
	if (!r->straggle.now)
		return;
	r->straggle.now = false;
	rank_event(r, now_ns, "no longer a straggler");
	rank_straggler_report(r, r->alive ? "the others no longer wait for it" : "it ended", now_ns,
			      true);
}

/* Returns true if the process trains together with other ranks, so that each step of theirs ends at
 * the same time. Only then does the wait of a rank depend on the others. */
static bool rank_straggler_in_step(const struct rank *r)
{
	return r->member.process.world_size > 1 ||
	       r->member.seen & (1ull << SIGNAL_REDUCER | 1ull << SIGNAL_COLLECTIVE);
}

void rank_straggler_step(struct rank *r, const struct fact_step *fs)
{
	struct straggler *s = rank_straggler_in_step(r) ? job_straggler(&r->member) : NULL;
	struct straggler_view view;

	if (!s)
		return;
	switch (straggler_step(s, r->member.pid, job_members(&r->member), fs, &view)) {
	case STRAGGLER_FOUND:
		rank_straggler_found(r, &view, fs->step.end_ns);
		break;
	case STRAGGLER_OVER:
		rank_straggler_over(r, fs->step.end_ns);
		break;
	case STRAGGLER_NONE:
		break;
	}
}

void rank_straggler_archive(struct archive *a, struct straggle_view *v)
{
	archive_fields(a, v, now, count, onset_ns, onset_step, size_ns, phase);
}
