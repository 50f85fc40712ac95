/* SPDX-License-Identifier: Apache-2.0 */
/* rank_straggler.c - reports when the other ranks of a job wait for this rank (it is the
 * straggler), and when this ends. Also computes the time that this rank loses by waiting for
 * another straggler. */
#include "userspace/base/clock.h"
#include "userspace/base/number.h"
#include "userspace/model/rank/rank_private.h"
#include "userspace/model/time/straggler.h"

/* A straggler may be the cause of a slowdown if it became the straggler at most this long before or
 * after the onset: ONSET_NS, or the time of STRAGGLER_WINDOW steps. */
#define ONSET_NS 5000000000ull
/* The straggler is named as a cause if it explains at least this share of a slowdown. */
#define LISTED_SHARE 0.05

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

/* Returns true if the process trains together with other ranks in such a way that a step ends at
 * the same time on all of them. Only then do the waits of a rank depend on the others. */
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
		straggler_set_rank(s, r->member.process.rank);
		rank_straggler_found(r, &view, fs->step.end_ns);
		break;
	case STRAGGLER_OVER:
		rank_straggler_over(r, fs->step.end_ns);
		break;
	case STRAGGLER_NONE:
		break;
	}
}

/* Returns how much longer (ns) a step waits for other ranks than before. Waits for the device are
 * included, because a queued collective is waited for on the device. */
static uint64_t rank_straggler_waits(const struct change_view *v)
{
	static const enum phase waits[] = {PHASE_SYNC, PHASE_COLLECTIVE};
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (v->parts_known & 1u << waits[i] && v->grown_ns[waits[i]] > 0)
			ns += (uint64_t)v->grown_ns[waits[i]];
	}
	return ns;
}

void rank_straggler_causes(const struct rank *r, struct rank_slow *slow,
			   const struct change_view *v)
{
	const struct straggler *s = rank_straggler_in_step(r) ? job_straggler(&r->member) : NULL;
	uint64_t within_ns = larger_of(ONSET_NS, STRAGGLER_WINDOW * v->after_ns);
	struct straggler_view late;

	if (s && straggler_other(s, r->member.pid, &late) &&
	    late.onset_ns + within_ns >= v->onset_ns && v->onset_ns + within_ns >= late.onset_ns) {
		slow->late_ns = late.size_ns;
		slow->late_pid = late.pid;
		slow->late_rank = late.rank;
	} else if (!v->end_ns) { /* after the slowdown has ended, keep its straggler */
		slow->late_ns = 0;
	}
	if (slow->causes.lost_ns)
		time_cause_add_wait(&slow->causes, TIME_CAUSE_straggler,
				    smaller_of(slow->late_ns, rank_straggler_waits(v)));
}

void rank_straggler_evidence(const struct rank_slow *slow, char *out, size_t len)
{
	bool named = slow->late_rank >= 0;
	size_t at = strlen(out);
	char late[16];

	if (time_cause_share(&slow->causes, TIME_CAUSE_straggler) < LISTED_SHARE)
		return;
	snprintf(out + at, len - at, "; %s %u comes %s late", named ? "rank" : "process",
		 named ? (unsigned)slow->late_rank : slow->late_pid,
		 clock_duration(late, sizeof(late), slow->late_ns));
}

void rank_straggler_archive(struct archive *a, struct straggle_view *v)
{
	archive_fields(a, v, now, count, onset_ns, onset_step, size_ns, phase);
}
