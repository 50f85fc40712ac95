/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/change.h"

#include <stdlib.h>
#include <string.h>

#include "userspace/model/order.h"

#define RING	       96 /* last steps: those that confirm, and some before the onset */
#define BLOCK	       32
#define BLOCKS	       32
#define LEARNT	       (CHANGE_LEARN / BLOCK)
#define FIRST	       5 /* steps that warm up (design §6) */
#define SPREADS_KNOWN  4 /* blocks whose spread means something */
#define DOUBTED_BLOCKS 4.0
#define LONGEST_NS                                                                                 \
	(UINT64_MAX >> 2) /* no step takes 146 years: differences fit a signed number              \
			   */

/* MAD to standard deviation of a normal distribution: 1 / Phi^-1(3/4). */
#define MAD_SCALE 1.4826
/* The median of 40 steps has a standard error of 1.25 / sqrt(40) = 0.2 of theirs: six of those.
 * Blocks know of noise that is not independent from step to step; what few blocks tell is believed
 * less (DOUBTED_BLOCKS).
 */
#define STEP_SPREADS  1.2
#define BLOCK_SPREADS 8.0
#define THRESHOLD     8.0 /* of the sum, in half changes */
#define CLIP	      3.0 /* what one step can add, in half changes: three outliers are no change */
#define GIVE_UP	      (4 * CHANGE_CONFIRM) /* steps after which a doubt is dropped */
#define USUAL_AGAIN   0.75 /* of the least change: a change at the brink does not come and go */
/* No samples. Not tainted alone: a step whose start or end is a guess, that stood still, that
 * compiled. */
#define NO_SAMPLE (STEP_NO_SAMPLE | STEP_recompiled)

struct past {
	uint64_t ns, start_ns, number;
	uint16_t share[PHASE_COUNT]; /* of ns, in 65535ths */
};

struct doubt { /* one CUSUM: has it changed in this direction? */
	double sum;
	uint64_t since; /* index of the first step of it */
	bool raised;	/* the sum was over the threshold */
};

struct change {
	uint64_t samples, skipped;
	struct past ring[RING];
	uint64_t median_ns[BLOCKS], spread_ns[BLOCKS];
	uint64_t blocks;   /* ever, since it was last learnt anew */
	uint64_t block_at; /* index of the first step of the block in the making */
	uint64_t usual_ns; /* 0: not known */
	uint64_t older_ns; /* usual before it became faster; forgotten when the new one is well
			      known */
	double least;	   /* change that is told, as a share of usual_ns */
	uint64_t part_ns[CHANGE_PARTS];
	uint32_t parts_known;
	uint32_t micro_batches,
		other_batches; /* of the usual step; steps in a row with another number */
	struct doubt up, down;
	struct change_view told;
};

struct change *change_new(void)
{
	struct change *c = calloc(1, sizeof(*c));

	if (c)
		c->told.blame = -1;
	return c;
}

void change_free(struct change *c)
{
	free(c);
}

const char *change_part_name(int part)
{
	return part < 0 ? "" : part < PHASE_COUNT ? phase_name[part] : "else";
}

/* ---- the last steps
 * ------------------------------------------------------------------------------ */

static const struct past *past_at(const struct change *c, uint64_t index)
{
	return &c->ring[index % RING];
}

static void remember(struct change *c, const struct fact_step *fs)
{
	struct past *p = &c->ring[c->samples++ % RING];
	uint64_t ns = fs->step.end_ns - fs->step.start_ns;

	*p = (struct past){.ns = ns, .start_ns = fs->step.start_ns, .number = fs->step.number};
	for (int i = 0; ns && i < PHASE_COUNT; i++) {
		double share = (double)fs->phase_ns[i] / (double)ns;

		p->share[i] = (uint16_t)(65535.0 * (share < 1 ? share : 1));
	}
	c->parts_known |= fs->phases_known;
}

static uint32_t times(const struct change *c, uint64_t from, uint64_t to, uint64_t *out)
{
	uint32_t n = 0;

	for (uint64_t i = from; i < to; i++)
		out[n++] = past_at(c, i)->ns;
	return n;
}

/* Median of the last steps, of the two in the middle the one that is nearer to no change. */
static uint64_t recent_median(const struct change *c, bool slower)
{
	uint64_t a[CHANGE_CONFIRM];

	times(c, c->samples - CHANGE_CONFIRM, c->samples, a);
	return order_nth(a, CHANGE_CONFIRM, CHANGE_CONFIRM / 2 - slower);
}

static uint64_t part_of(const struct past *p, int part)
{
	double known = 0;

	if (part < PHASE_COUNT)
		return (uint64_t)((double)p->share[part] / 65535.0 * (double)p->ns);
	for (int i = 0; i < PHASE_COUNT; i++)
		known += p->share[i] / 65535.0;
	return known < 1 ? (uint64_t)((1 - known) * (double)p->ns) : 0;
}

static uint64_t part_median(const struct change *c, int part, uint64_t from, uint64_t to)
{
	uint64_t a[RING];
	uint32_t n = 0;

	for (uint64_t i = from; i < to; i++)
		a[n++] = part_of(past_at(c, i), part);
	return order_median(a, n);
}

/* ---- the usual step
 * ------------------------------------------------------------------------------ */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void learn_usual(struct change *c)
{
	uint32_t n = c->blocks < BLOCKS ? (uint32_t)c->blocks : BLOCKS;
	double scale, step_spread, block_spread;
	uint64_t a[BLOCKS];

	if (n < LEARNT)
		return;
	memcpy(a, c->median_ns, n * sizeof(*a));
	c->usual_ns = order_median(a, n);
	block_spread = n < SPREADS_KNOWN ? 0 : (double)order_spread(a, n, c->usual_ns);
	memcpy(a, c->spread_ns, n * sizeof(*a));
	step_spread = (double)order_median(a, n);
	scale = MAD_SCALE * (1 + DOUBTED_BLOCKS / n) / (c->usual_ns ? (double)c->usual_ns : 1);
	c->least = larger(CHANGE_MIN, larger(STEP_SPREADS * step_spread * scale,
					     BLOCK_SPREADS * block_spread * scale));
	if (c->blocks >= BLOCKS)
		c->older_ns = 0;
}

/* The last BLOCK steps are healthy ones. */
static void learn_block(struct change *c)
{
	uint64_t a[BLOCK], med, weight = c->blocks < 7 ? c->blocks + 1 : 8;
	uint32_t at = (uint32_t)(c->blocks++ % BLOCKS);

	times(c, c->samples - BLOCK, c->samples, a);
	c->median_ns[at] = med = order_median(a, BLOCK);
	c->spread_ns[at] = order_spread(a, BLOCK, med);
	for (int i = 0; i < CHANGE_PARTS; i++) {
		int64_t more_ns = (int64_t)part_median(c, i, c->samples - BLOCK, c->samples) -
				  (int64_t)c->part_ns[i];

		c->part_ns[i] = (uint64_t)((int64_t)c->part_ns[i] + more_ns / (int64_t)weight);
	}
	c->block_at = c->samples;
	learn_usual(c);
}

static void doubts_drop(struct change *c)
{
	c->up = c->down = (struct doubt){.since = c->samples};
	c->block_at = c->samples;
}

/* The last steps are the new usual ones. */
static void learn_anew(struct change *c)
{
	c->blocks = 0;
	learn_block(c);
	c->usual_ns = c->median_ns[0];
	doubts_drop(c);
}

/* ---- doubts
 * -------------------------------------------------------------------------------------- */

/* distance: from the level that is doubted, as a share of the usual step, positive where it would
 * have changed to; half: of the change that is looked for. */
static void doubt_add(struct change *c, struct doubt *d, double distance, double half)
{
	double more = distance - half;

	if (d->sum <= 0)
		*d = (struct doubt){.since = c->samples - 1};
	d->sum += more > CLIP * half ? CLIP * half : more < -CLIP * half ? -CLIP * half : more;
	if (d->sum > THRESHOLD * half)
		d->raised = true;
	if (d->sum <= 0)
		d->raised = false;
}

/* Enough steps, and not looked at too often while it stays a doubt. */
static bool doubt_due(const struct change *c, const struct doubt *d)
{
	uint64_t n = c->samples - d->since;

	return d->raised && n >= CHANGE_CONFIRM && (n < 2 * CHANGE_CONFIRM || n % 8 == 0);
}

/* Both levels known, the most likely step of the change is where the sum of what follows is
 * largest; no step counts for more than one at its level does, so that outliers do not move it. It
 * is behind step `number`. */
static uint64_t change_index(const struct change *c, uint64_t number, uint64_t before_ns,
			     uint64_t after_ns)
{
	double middle = ((double)before_ns + (double)after_ns) / 2;
	double half = (double)after_ns - middle, sum = 0, best = 0;
	uint64_t oldest = c->samples > RING ? c->samples - RING : 0, at = c->samples - 1;

	for (uint64_t i = c->samples; i-- > oldest && past_at(c, i)->number > number;) {
		double more = ((double)past_at(c, i)->ns - middle) / half;

		sum += more > 1 ? 1 : more < -1 ? -1 : more;
		if (sum > best) {
			best = sum;
			at = i;
		}
	}
	return at;
}

/* ---- what is told
 * -------------------------------------------------------------------------------- */

static void blame(struct change *c, uint64_t from)
{
	struct change_view *v = &c->told;
	int64_t all_ns = (int64_t)v->after_ns - (int64_t)v->before_ns;

	v->blame = -1;
	v->parts_known = c->parts_known;
	for (int i = 0; i < CHANGE_PARTS; i++) {
		v->grown_ns[i] = (int64_t)part_median(c, i, from, c->samples) -
				 (int64_t)c->part_ns[i];
		if (v->grown_ns[i] > all_ns / 2 &&
		    (v->blame < 0 || v->grown_ns[i] > v->grown_ns[v->blame]))
			v->blame = i;
	}
	if (!c->parts_known) /* "else" would be all of it: nothing is known */
		v->blame = -1;
}

static void tell_slower(struct change *c, uint64_t from, uint64_t after_ns)
{
	struct change_view *v = &c->told;

	*v = (struct change_view){
		.slow = true,
		.count = v->count + 1,
		.onset_step = past_at(c, from)->number,
		.onset_ns = past_at(c, from)->start_ns,
		.noticed_step = past_at(c, c->samples - 1)->number,
		.before_ns = c->usual_ns,
		.after_ns = after_ns,
	};
	blame(c, from);
	doubts_drop(c);
}

static void tell_recovered(struct change *c, uint64_t now_ns)
{
	uint64_t at = change_index(c, c->told.onset_step, c->told.after_ns, now_ns);

	c->told.slow = false;
	c->told.end_step = past_at(c, at)->number;
	c->told.end_ns = past_at(c, at)->start_ns;
	doubts_drop(c);
}

/* ---- steps
 * --------------------------------------------------------------------------------------- */

static enum change_told step_slow(struct change *c, double usual, double distance)
{
	struct change_view *v = &c->told;
	double level = larger((double)v->after_ns / usual - 1, c->least);
	uint64_t now_ns;

	doubt_add(c, &c->down, level - distance, level / 2);
	if (doubt_due(c, &c->down)) {
		now_ns = recent_median(c, false);
		if ((double)now_ns / usual - 1 <= USUAL_AGAIN * c->least) {
			tell_recovered(c, now_ns);
			return CHANGE_RECOVERED;
		}
	}
	if (c->samples % 8 == 0 && !c->down.raised)
		v->after_ns = recent_median(c, true);
	return CHANGE_NONE;
}

static enum change_told confirm_slower(struct change *c, double usual)
{
	uint64_t now_ns = recent_median(c, true), from, a[RING];

	if ((double)now_ns / usual - 1 < c->least)
		return CHANGE_NONE;
	from = change_index(c, 0, c->usual_ns, now_ns);
	now_ns = order_median(a, times(c, from, c->samples, a));
	if ((double)now_ns / usual - 1 < c->least)
		return CHANGE_NONE;
	/* It was as slow before it became faster, not long ago. */
	if (c->older_ns && (double)now_ns < (double)c->older_ns * (1 + c->least)) {
		learn_anew(c);
		return CHANGE_NONE;
	}
	tell_slower(c, from, now_ns);
	return CHANGE_SLOWER;
}

static void confirm_faster(struct change *c, double usual)
{
	if (1 - (double)recent_median(c, false) / usual < c->least)
		return;
	c->older_ns = c->usual_ns > c->older_ns ? c->usual_ns : c->older_ns;
	learn_anew(c);
}

static enum change_told step_usual(struct change *c, double usual, double distance)
{
	enum change_told told = CHANGE_NONE;

	doubt_add(c, &c->up, distance, c->least / 2);
	doubt_add(c, &c->down, -distance, c->least / 2);
	if (doubt_due(c, &c->up))
		told = confirm_slower(c, usual);
	else if (doubt_due(c, &c->down))
		confirm_faster(c, usual);
	if ((c->up.raised && c->samples - c->up.since > GIVE_UP) ||
	    (c->down.raised && c->samples - c->down.since > GIVE_UP))
		doubts_drop(c);
	if (c->up.raised ||
	    c->down.raised) /* the usual step is learnt from steps that nobody doubts */
		c->block_at = c->samples;
	return told;
}

/* More or fewer micro-batches make another step: one odd step (the end of an epoch) is passed over,
 * many are learnt anew. */
static bool same_work(struct change *c, const struct step *s)
{
	if (!c->samples || s->micro_batches == c->micro_batches) {
		c->micro_batches = s->micro_batches;
		c->other_batches = 0;
	} else {
		c->other_batches++;
	}
	return !c->other_batches;
}

static enum change_told learn_other_work(struct change *c, const struct step *s)
{
	bool slow = c->told.slow;

	if (c->other_batches < BLOCK)
		return CHANGE_NONE;
	c->micro_batches = s->micro_batches;
	c->other_batches = 0;
	c->samples = c->blocks = c->usual_ns = c->older_ns = 0;
	memset(c->part_ns, 0, sizeof(c->part_ns));
	doubts_drop(c);
	if (!slow)
		return CHANGE_NONE;
	c->told.slow = false;
	c->told.incomparable = true;
	c->told.end_step = s->number;
	c->told.end_ns = s->start_ns;
	return CHANGE_RECOVERED;
}

enum change_told change_step(struct change *c, const struct fact_step *fs)
{
	enum change_told told = CHANGE_NONE;
	double usual, distance;

	if (fs->step.flags & NO_SAMPLE || fs->step.end_ns <= fs->step.start_ns ||
	    fs->step.end_ns - fs->step.start_ns > LONGEST_NS)
		return CHANGE_NONE;
	if (c->skipped < FIRST) {
		c->skipped++;
		return CHANGE_NONE;
	}
	if (!same_work(c, &fs->step))
		return learn_other_work(c, &fs->step);
	remember(c, fs);
	if (c->usual_ns) {
		usual = (double)c->usual_ns;
		distance = (double)past_at(c, c->samples - 1)->ns / usual - 1;
		told = c->told.slow ? step_slow(c, usual, distance)
				    : step_usual(c, usual, distance);
	}
	if (c->told.slow)
		c->block_at = c->samples;
	else if (c->samples - c->block_at == BLOCK)
		learn_block(c);
	return told;
}

static void doubt_archive(struct archive *a, struct doubt *d, uint64_t samples)
{
	archive_number(a, &d->sum);
	archive_number(a, &d->since);
	archive_number(a, &d->raised);
	archive_require(a, d->since <= samples);
}

static void told_archive(struct archive *a, struct change_view *v)
{
	archive_number(a, &v->slow);
	archive_number(a, &v->incomparable);
	archive_number(a, &v->count);
	archive_number(a, &v->onset_step);
	archive_number(a, &v->onset_ns);
	archive_number(a, &v->noticed_step);
	archive_number(a, &v->before_ns);
	archive_number(a, &v->after_ns);
	archive_number(a, &v->end_step);
	archive_number(a, &v->end_ns);
	archive_numbers(a, v->grown_ns);
	archive_number(a, &v->parts_known);
	archive_number(a, &v->blame);
	archive_require(a, v->blame >= -1 && v->blame < CHANGE_PARTS);
	archive_require(a, v->before_ns <= LONGEST_NS && v->after_ns <= LONGEST_NS);
}

static void ring_archive(struct archive *a, struct change *c)
{
	for (uint64_t i = 0; i < RING && i < c->samples; i++) {
		struct past *p = &c->ring[i];

		archive_number(a, &p->ns);
		archive_number(a, &p->start_ns);
		archive_number(a, &p->number);
		archive_numbers(a, p->share);
		archive_require(a, p->ns <= LONGEST_NS);
	}
}

void change_archive(struct archive *a, struct change **at)
{
	struct change *c = *at = archive_object(a, *at, sizeof(*c));

	if (!c)
		return;
	archive_number(a, &c->samples);
	archive_number(a, &c->skipped);
	ring_archive(a, c);
	archive_number(a, &c->blocks);
	for (uint64_t i = 0; i < BLOCKS && i < c->blocks; i++) {
		archive_number(a, &c->median_ns[i]);
		archive_number(a, &c->spread_ns[i]);
	}
	archive_number(a, &c->block_at);
	archive_number(a, &c->usual_ns);
	archive_number(a, &c->older_ns);
	archive_number(a, &c->least);
	for (int i = 0; i < CHANGE_PARTS; i++) {
		archive_number(a, &c->part_ns[i]);
		archive_require(a, c->part_ns[i] <= LONGEST_NS);
	}
	archive_number(a, &c->parts_known);
	archive_number(a, &c->micro_batches);
	archive_number(a, &c->other_batches);
	doubt_archive(a, &c->up, c->samples);
	doubt_archive(a, &c->down, c->samples);
	told_archive(a, &c->told);
	archive_require(a, c->block_at <= c->samples && c->samples - c->block_at < BLOCK);
	archive_require(a, !c->usual_ns || (c->samples >= CHANGE_LEARN && c->least >= CHANGE_MIN));
	archive_require(a, !c->told.slow || c->usual_ns);
}

void change_view(const struct change *c, struct change_view *ret)
{
	*ret = c->told;
	ret->usual_ns = c->usual_ns;
	ret->known = c->usual_ns;
}
