/* SPDX-License-Identifier: Apache-2.0 */
/* rank_range.c - named ranges of the job to which the user gave a bucket.
 *
 * A range counts from its opening to its end, at most to the end of the process or a gap in
 * observation. If ranges are nested, the bucket with the higher priority in the ledger gets the
 * time; among custom types, the inner range. A step within a range is time of the range's bucket if
 * that bucket precedes GOODPUT in the ledger's priority. A range on a thread that does not train is
 * reported, but not counted. Evaluations and checkpoints are not part of a step; a range within one
 * of them is part of its length, not of goodput. */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/grow.h"

static void range_claim(struct rank *r, const struct rank_range *o, uint64_t to_ns)
{
	int err = 0;

	if (to_ns <= o->booked_ns || !phase_trains(r->phase, o->tid))
		return;
	if (o->bucket == BUCKET_CUSTOM)
		err = ledger_custom(r->member.ledger, o->type, o->booked_ns, to_ns);
	else
		err = ledger_interval(r->member.ledger, o->bucket, o->booked_ns, to_ns);
	r->error = err ? err : r->error;
}

/* Returns true for buckets whose time is between steps; gp-bpf finds such time without ranges, too.
 * Time of other buckets may be part of a step: it counts in the length of the step, but not as
 * GOODPUT. */
static bool range_between(enum bucket b)
{
	return b == BUCKET_EVAL || b == BUCKET_CHECKPOINT_SAVE || b == BUCKET_CHECKPOINT_RESTORE;
}

static void range_over(struct rank *r, const struct rank_range *o, uint64_t end_ns)
{
	struct fact_range range = {
		.name = o->name,
		.bucket = o->bucket,
		.type = o->type,
		.async = !phase_trains(r->phase, o->tid),
		.start_ns = o->begin_ns,
		.end_ns = end_ns,
	};
	struct fact f = {.type = FACT_RANGE, .range = &range};

	range_claim(r, o, end_ns);
	if (!range.async && range_between(o->bucket))
		phase_break(r->phase, o->tid, o->begin_ns, end_ns);
	if (!r->trainer)
		return;
	rank_fact(r, &f, end_ns);
	r->ledger_due = true;
}

static void range_make(struct rank_range *o, const struct signal *s, const struct range_rule *rule)
{
	*o = (struct rank_range){
		.tid = s->tid,
		.begin_ns = s->begin_ns,
		.booked_ns = s->begin_ns,
		.bucket = rule->bucket,
		.type = rule->type,
	};
	snprintf(o->name, sizeof(o->name), "%s", s->text);
}

void rank_range_signal(struct rank *r, const struct signal *s)
{
	const struct range_rule *rule;
	struct rank_range one, *kept;
	uint32_t i = r->nranges;

	if (s->kind == SIGNAL_RANGE) {
		while (i && (r->ranges[i - 1].tid != s->tid ||
			     r->ranges[i - 1].begin_ns != s->begin_ns ||
			     strcmp(r->ranges[i - 1].name, s->text) != 0))
			i--;
	}
	if (s->kind == SIGNAL_RANGE && i) {
		range_over(r, &r->ranges[i - 1], s->ts_ns);
		memmove(&r->ranges[i - 1], &r->ranges[i], (r->nranges - i) * sizeof(*r->ranges));
		r->nranges--;
		return;
	}
	rule = range_rules_find(&r->member.env->ranges, s->text);
	if (!rule)
		return;
	range_make(&one, s, rule);
	if (s->kind == SIGNAL_RANGE) {
		range_over(r, &one, s->ts_ns);
		return;
	}
	if (r->nranges == RANK_RANGES)
		return;
	kept = grow_add(r->ranges, r->nranges, r->ranges_cap, RANK_RANGES);
	if (kept)
		*kept = one;
	else
		r->error = -ENOMEM;
}

void rank_range_step(struct rank *r, uint64_t end_ns)
{
	for (uint32_t i = 0; i < r->nranges; i++) {
		range_claim(r, &r->ranges[i], end_ns);
		if (r->ranges[i].booked_ns < end_ns)
			r->ranges[i].booked_ns = end_ns;
	}
}

void rank_range_close(struct rank *r, uint64_t now_ns)
{
	while (r->nranges)
		range_over(r, &r->ranges[--r->nranges], now_ns);
}

void rank_range_archive(struct archive *a, struct rank *r)
{
	archive_items(a, r->ranges, r->nranges, r->ranges_cap, RANK_RANGES);
	for (uint32_t i = 0; i < r->nranges; i++) {
		struct rank_range *o = &r->ranges[i];

		archive_fields(a, o, tid, begin_ns, booked_ns);
		archive_below(a, &o->bucket, BUCKET_GOODPUT);
		archive_below(a, &o->type, LEDGER_TYPES);
		archive_field(a, o->name);
	}
}
