/* SPDX-License-Identifier: Apache-2.0 */
/* rank_badput.c - finds what explains the time that a rank spends outside of steps, such as
 * checkpoints and evaluations: what the training thread lacked then (a CPU, a disk...), and at
 * which line it was. Waits for the data loader have reasons of their own (rank_input.c). */
#include "userspace/model/rank/rank_private.h"

#include "userspace/base/number.h"

/* Shorter spans (ns) are ignored, because the lack of resources is measured once a second. */
#define SPAN_LEAST_NS 100000000ull
/* A span is examined this long (ns) after its end: by then its last second has been measured. */
#define SPAN_AFTER_NS 3000000000ull
/* Number of spans that wait to be examined. If there are more, the oldest is not examined. */
#define SPANS 64
/* Nothing is said about a bucket with less than BUCKET_SHARE of the time, or if less than
 * KNOWN_LEAST_NS (ns) of its time was examined. */
#define BUCKET_SHARE   0.05
#define KNOWN_LEAST_NS 2000000000ull
/* A line is named only if the thread was there for at least this share of the time. */
#define LINE_SHARE 0.25

static const enum bucket badput_buckets[RANK_BADPUT] = {BUCKET_CHECKPOINT_SAVE,
							BUCKET_CHECKPOINT_RESTORE, BUCKET_EVAL,
							BUCKET_CUSTOM, BUCKET_OTHER};

struct rank_badput {
	struct badput_span {
		uint64_t from_ns, to_ns;
		uint32_t at; /* index in badput_buckets */
	} span[SPANS];	     /* the oldest first */
	uint32_t nspans;
	struct resource_sums lacked[RANK_BADPUT]; /* in the spans that were examined */
};

void rank_badput_free(struct rank_badput *b)
{
	free(b);
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Returns the index of a bucket in badput_buckets, or RANK_BADPUT. */
static uint32_t badput_index(enum bucket bucket)
{
	uint32_t i = 0;

	while (i < RANK_BADPUT && badput_buckets[i] != bucket)
		i++;
	return i;
}

static void badput_forget(struct rank_badput *b, uint32_t i)
{
	b->nspans--;
	memmove(&b->span[i], &b->span[i + 1], (b->nspans - i) * sizeof(b->span[0]));
}

/* Forgets the spans, not examined yet, whose time another bucket gets. */
static void badput_moved(struct rank_badput *b, const struct ledger_span *s)
{
	for (uint32_t i = b->nspans; i-- > 0;) {
		const struct badput_span *k = &b->span[i];

		if (badput_buckets[k->at] == s->was && k->from_ns < s->to_ns &&
		    k->to_ns > s->from_ns)
			badput_forget(b, i);
	}
}

void rank_badput_span(struct rank *r, const struct ledger_span *s)
{
	struct rank_badput *b = r->badput;
	uint32_t at = badput_index(s->bucket);

	if (s->was != BUCKET_COUNT) {
		if (b)
			badput_moved(b, s);
		return;
	}
	if (at == RANK_BADPUT || s->to_ns - s->from_ns < SPAN_LEAST_NS || !r->nloops ||
	    r->loops[0]->state.state != STATE_LOCKED)
		return;
	if (!b && !r->resource && !r->lines)
		return; /* nothing explains it */
	if (!b)
		b = r->badput = calloc(1, sizeof(*b));
	if (!b) {
		r->error = -ENOMEM;
		return;
	}
	if (b->nspans == SPANS)
		badput_forget(b, 0);
	b->span[b->nspans++] = (struct badput_span){s->from_ns, s->to_ns, at};
}

/* ---- what explains them ---------------------------------------------------------------------- */

static void badput_examine(struct rank *r, const struct badput_span *s)
{
	struct resource_sums lacked;

	rank_line_tag(r, s->from_ns, s->to_ns, (uint8_t)(s->at + 1));
	if (!r->resource)
		return;
	resource_between(r->resource, s->from_ns, s->to_ns, &lacked);
	resource_sums_add(&r->badput->lacked[s->at], &lacked);
}

void rank_badput_tick(struct rank *r, uint64_t now_ns)
{
	struct rank_badput *b = r->badput;

	while (b && b->nspans && now_ns >= b->span[0].to_ns + SPAN_AFTER_NS) {
		badput_examine(r, &b->span[0]);
		badput_forget(b, 0);
	}
}

static void badput_view(const struct rank *r, uint32_t at, struct badput_view *ret)
{
	const struct resource_sums *lacked = &r->badput->lacked[at];
	struct resource_sums none = {.covered_ns = lacked->covered_ns,
				     .block_known = true,
				     .system_known = true,
				     .stall_known = true,
				     .group = true};
	struct time_causes causes;
	struct lines_tagged lines;

	time_cause_slower(&causes, &none, 0, lacked, lacked->covered_ns);
	if (causes.lost_ns < KNOWN_LEAST_NS)
		return;
	rank_line_tagged(r, (uint8_t)(at + 1), &lines);
#define OF(use) ((uint64_t)(lines.share[use] * (double)causes.lost_ns))
	time_cause_add(&causes, TIME_CAUSE_garbage_collection, OF(LINES_COLLECT));
	time_cause_add(&causes, TIME_CAUSE_checkpoint, OF(LINES_SAVED));
	time_cause_add(&causes, TIME_CAUSE_interpreter_lock, OF(LINES_LOCKED));
#undef OF
	time_cause_add_kernel(&causes, &none, 0, lacked, lacked->covered_ns);
	*ret = (struct badput_view){.bucket = badput_buckets[at], .examined_ns = causes.lost_ns};
	memcpy(ret->ns, causes.ns, sizeof(ret->ns));
	if (lines.most.share >= LINE_SHARE)
		ret->most = lines.most;
}

void rank_badput_view(const struct rank *r, const struct ledger_view *l,
		      struct badput_view ret[RANK_BADPUT])
{
	for (uint32_t i = 0, n = 0; r->badput && i < RANK_BADPUT; i++) {
		if ((double)l->ns[badput_buckets[i]] < BUCKET_SHARE * (double)ledger_elapsed(l))
			continue;
		badput_view(r, i, &ret[n]);
		n += ret[n].examined_ns > 0;
	}
}

/* ---- state ----------------------------------------------------------------------------------- */

void rank_badput_archive(struct archive *a, struct rank_badput **at)
{
	struct rank_badput *b = *at = archive_object(a, *at, sizeof(**at));

	if (!b)
		return;
	archive_struct(a, sizeof(*b));
	archive_below(a, &b->nspans, SPANS + 1);
	for (uint32_t i = 0; i < b->nspans; i++) {
		archive_fields(a, &b->span[i], from_ns, to_ns);
		archive_below(a, &b->span[i].at, RANK_BADPUT);
		archive_require(a, b->span[i].from_ns <= b->span[i].to_ns);
	}
	for (uint32_t i = 0; i < RANK_BADPUT; i++)
		resource_sums_archive(a, &b->lacked[i]);
}
