/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/change.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/order.h"
#include "userspace/base/number.h"
#include "userspace/model/time/change_lasting.h"
#include "userspace/model/time/change_sums.h"

/* number of last samples that are kept: the CHANGE_CONFIRM that confirm a change, and some before
 * them */
#define RING 56
/* Steps shorter than this (ns) are averaged in groups, so that a sample is about this long. */
#define SAMPLE_NS 50000000ull
/* most steps that are averaged in one sample */
#define SAMPLE_STEPS 65536
/* The usual step is learnt from the last BLOCKS blocks of BLOCK healthy samples. It is known after
 * LEARNT blocks. */
#define BLOCK	      32
#define BLOCKS	      32
#define LEARNT	      (CHANGE_LEARN / BLOCK)
#define FIRST	      5 /* steps ignored after the start of the loop, while the program warms up */
#define SPREADS_KNOWN 4 /* number of blocks needed to compute the spread between blocks */

/* A change must be this many times the spread of single steps: six times the standard error of the
 * median of 40 steps, which is 1.25 / sqrt(40) = 0.2 of that spread. */
#define STEP_SPREADS 1.2
/* A change is suspected when doubt.sum exceeds this many half changes, that is, halves of the
 * change that is looked for. */
#define THRESHOLD 8.0
/* One sample adds at most this many half changes to the sum, so that one or two outliers cannot
 * raise a suspicion. */
#define CLIP 3.0
/* A suspected change that is not confirmed within this many samples is dropped. */
#define GIVE_UP (4 * CHANGE_CONFIRM)
/* A slowdown that must last before it is reported stays suspected for up to this long (ns), even
 * after GIVE_UP samples. */
#define DOUBT_NS 240000000000ull
/* A slowdown ends when the steps exceed the usual step by at most this part of the least change
 * that is reported. The value is below 1 so that a change close to the limit is not reported again
 * and again. */
#define USUAL_AGAIN 0.75

#define SCALES	3
#define MILLION 1000000
/* Ratios to the usual step are stored in 16 bits, in units of 1/SHARE, so they are below 16. A step
 * that is 16 times as long contains a blocked call, which is not a slowdown. */
#define SHARE		4096.0
#define PENDING_SAMPLES 8 /* samples averaged in each entry of pending.mean */
/* A slowdown is reported with the mean step times before and after it, instead of the medians, if
 * the ratio of the means differs from that of the medians by at least this. */
#define MEAN_DIFFERS 0.02

/* The test of medians and the test of sums may find the same slowdown. The test of sums waits for
 * this long (ns), because the test of medians finds the onset better. */
#define MEDIAN_FIRST_NS 2000000000ull

/* Number of step times kept to find out whether every n-th step is long (n up to PERIOD_MOST - 1).
 * They are kept as logarithms in units of 1/RAW_LOG. */
#define RAW	    160
#define RAW_LOG	    1024.0
#define PERIOD_MOST 64
/* Every n-th step is long if at least PERIOD_LEAST distances between long steps, and PERIOD_AGREE
 * percent of all such distances, are n. */
#define PERIOD_LEAST 4
#define PERIOD_AGREE 80
/* Steps with these flags are not samples: lost records, an estimated start or end, a hang, a
 * compilation. */
#define NO_SAMPLE (STEP_NO_SAMPLE | STEP_recompiled)

struct past {
	uint64_t ns, start_ns;
	uint32_t number;	     /* low 32 bits of the number of the sample's first step */
	uint16_t share[PHASE_COUNT]; /* share of ns that each phase takes, in 65535ths */
};

struct doubt { /* a suspected change in one direction, slower or faster (a CUSUM) */
	double sum;
	uint64_t since; /* index of the first sample that contributes to sum */
	bool raised;	/* a change is suspected: sum exceeded the threshold */
};

static const uint32_t scale_samples[SCALES] = {8, 32, 128}; /* samples in a group */

struct pending { /* a slowdown that has not lasted long enough yet; number 0: none */
	uint64_t number, start_ns;
	uint64_t sum_ns; /* sum and number (count) of samples of the group in progress */
	uint32_t count, groups;
	/* mean sample of the last groups, as a share of the usual sample in units of 1/SHARE */
	uint16_t mean[SUMS_GROUPS];
};

struct sample { /* the sample in progress: sums over its steps */
	uint64_t steps, ns, start_ns, number;
	uint64_t phase_ns[PHASE_COUNT];
};

struct change {
	uint64_t samples, skipped;
	uint64_t number;   /* number of the last step */
	uint64_t together; /* steps averaged in a sample; 0 counts as 1 */
	struct sample making;
	/* the last samples */
	struct past ring[RING];
	uint64_t raw; /* number of steps added to raw_log so far */
	/* the last step times in ns: RAW_LOG times their logarithm to the base 2 */
	uint16_t raw_log[RAW];
	struct scale scale[SCALES];
	struct pending pending;
	struct lasting lasting;
	/* Test that found the current slowdown. 0: the test of medians; otherwise 1 + index in
	 * scale. */
	uint64_t found;
	uint64_t median_ns[BLOCKS];
	uint32_t spread[BLOCKS]; /* spread of the steps of each block, in millionths of median_ns */
	/* mean step of the last blocks, as a share of median_ns in units of 1/SHARE */
	uint16_t mean[SUMS_GROUPS];
	uint64_t blocks;   /* number of blocks since learning began again */
	uint64_t block_at; /* index of the first sample of the block in progress */
	uint64_t usual_ns; /* 0: unknown */
	/* Usual step time before steps became faster. Reset when the new usual step time is well
	 * known. */
	uint64_t older_ns;
	double least; /* smallest change that is reported, as a share of usual_ns */
	uint64_t part_ns[CHANGE_PARTS];
	uint32_t parts_known;
	uint32_t micro_batches; /* micro-batches of the usual step */
	uint64_t optimizer;
	/* successive steps with other work than the usual step (see change_same_work()) */
	uint32_t others;
	struct doubt up, down;
	struct change_view reported;
};

struct change *change_new(void)
{
	struct change *c = calloc(1, sizeof(*c));

	if (c)
		c->reported.blame = -1;
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

const char *change_period_text(char *out, size_t len, const struct change_view *v)
{
	static const char *const ending[] = {"th", "st", "nd", "rd"};
	uint32_t p = v->period, last = p % 10 < 4 && p % 100 / 10 != 1 ? p % 10 : 0;

	*out = '\0';
	if (p)
		snprintf(out, len, "every %u%s step is long", p, ending[last]);
	return out;
}

/* ---- the last steps -------------------------------------------------------------------------- */

static const struct past *change_past_at(const struct change *c, uint64_t index)
{
	return &c->ring[index % RING];
}

static uint64_t change_past_number(const struct change *c, uint64_t index)
{
	return c->number - (uint32_t)(c->number - change_past_at(c, index)->number);
}

/* Adds a step to the sample in progress. Returns true when the sample is complete. */
static bool change_sample_add(struct change *c, const struct fact_step *fs)
{
	uint64_t ns = fs->step.end_ns - fs->step.start_ns;
	struct sample *m = &c->making;
	struct past *p;

	c->raw_log[c->raw++ % RAW] = (uint16_t)(RAW_LOG * log2((double)ns));
	c->number = fs->step.number;
	c->parts_known |= fs->phases_known;
	if (!m->steps)
		*m = (struct sample){.start_ns = fs->step.start_ns, .number = fs->step.number};
	m->steps++;
	m->ns += ns;
	for (int i = 0; i < PHASE_COUNT; i++)
		m->phase_ns[i] += smaller_of(fs->phase_ns[i], ns);
	if (m->steps < c->together && m->ns < 64 * SAMPLE_NS)
		return false;
	p = &c->ring[c->samples++ % RING];
	*p = (struct past){
		.ns = m->ns / m->steps, .start_ns = m->start_ns, .number = (uint32_t)m->number};
	for (int i = 0; i < PHASE_COUNT; i++)
		p->share[i] = m->ns ? (uint16_t)(65535.0 * (double)m->phase_ns[i] / (double)m->ns)
				    : 0;
	*m = (struct sample){0};
	return true;
}

static uint32_t change_times(const struct change *c, uint64_t from, uint64_t to, uint64_t *out)
{
	uint32_t n = 0;

	for (uint64_t i = from; i < to; i++)
		out[n++] = change_past_at(c, i)->ns;
	return n;
}

static uint64_t change_mean_of(const uint64_t *a, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)a[i];
	return (uint64_t)(sum / n);
}

/* Returns the median of the last CHANGE_CONFIRM samples. Their number is even, so there are two in
 * the middle: returns the one closer to the usual step. */
static uint64_t change_recent_median(const struct change *c, bool slower)
{
	uint64_t a[CHANGE_CONFIRM];

	change_times(c, c->samples - CHANGE_CONFIRM, c->samples, a);
	return order_nth(a, CHANGE_CONFIRM, CHANGE_CONFIRM / 2 - slower);
}

static uint64_t change_part_of(const struct past *p, int part)
{
	double known = 0;

	if (part < PHASE_COUNT)
		return (uint64_t)((double)p->share[part] / 65535.0 * (double)p->ns);
	for (int i = 0; i < PHASE_COUNT; i++)
		known += p->share[i] / 65535.0;
	return known < 1 ? (uint64_t)((1 - known) * (double)p->ns) : 0;
}

static uint64_t change_part_median(const struct change *c, int part, uint64_t from, uint64_t to)
{
	uint64_t a[RING];
	uint32_t n = 0;

	for (uint64_t i = from; i < to; i++)
		a[n++] = change_part_of(change_past_at(c, i), part);
	return order_median(a, n);
}

static uint64_t change_part_mean(const struct change *c, int part, uint64_t from, uint64_t to)
{
	double sum = 0;

	for (uint64_t i = from; i < to; i++)
		sum += (double)change_part_of(change_past_at(c, i), part);
	return to > from ? (uint64_t)(sum / (double)(to - from)) : 0;
}

/* ---- the usual step -------------------------------------------------------------------------- */

static double change_larger(double a, double b)
{
	return a > b ? a : b;
}

static uint64_t change_share_ns(double share, uint64_t whole_ns)
{
	double ns = share * (double)whole_ns;

	return ns < (double)CHANGE_LONGEST_NS ? (uint64_t)llround(ns) : CHANGE_LONGEST_NS;
}

static void change_learn_usual(struct change *c)
{
	uint32_t n = smaller_of(c->blocks, BLOCKS);
	double scale, step_spread, block_spread;
	uint64_t a[BLOCKS];

	if (n < LEARNT)
		return;
	memcpy(a, c->median_ns, n * sizeof(*a));
	c->usual_ns = order_median(a, n);
	block_spread = n < SPREADS_KNOWN ? 0 : (double)order_spread(a, n, c->usual_ns);
	for (uint32_t i = 0; i < n; i++)
		a[i] = change_share_ns((double)c->spread[i] / MILLION, c->median_ns[i]);
	step_spread = (double)order_median(a, n);
	scale = MAD_SCALE * (1 + DOUBTED_BLOCKS / n) / (c->usual_ns ? (double)c->usual_ns : 1);
	c->least = change_larger(CHANGE_MIN, change_larger(STEP_SPREADS * step_spread * scale,
							   BLOCK_SPREADS * block_spread * scale));
	if (c->blocks >= BLOCKS)
		c->older_ns = 0;
}

static void change_doubts_drop(struct change *c)
{
	c->up = c->down = (struct doubt){.since = c->samples};
	c->pending.number = 0;
	c->block_at = c->samples;
}

static void change_forget_usual(struct change *c)
{
	c->samples = c->blocks = c->usual_ns = c->older_ns = c->making.steps = c->raw = 0;
	memset(c->part_ns, 0, sizeof(c->part_ns));
	memset(c->scale, 0, sizeof(c->scale));
}

/* Sets how many steps make a sample, so that a sample is much longer than a time slice of the
 * scheduler. Returns true when the number changed; then learning begins again. */
static bool change_resize_sample(struct change *c)
{
	uint64_t ns = c->median_ns[0] ? c->median_ns[0] : 1, now = c->together ? c->together : 1;
	uint64_t wanted = SAMPLE_NS / ns < SAMPLE_STEPS ? SAMPLE_NS / ns : SAMPLE_STEPS;

	if (wanted < 2 * now)
		return false;
	change_forget_usual(c);
	change_doubts_drop(c);
	c->together = wanted;
	return true;
}

static uint32_t change_millionths(uint64_t part, uint64_t whole)
{
	double share = whole ? MILLION * (double)part / (double)whole : 0;

	return share < UINT32_MAX ? (uint32_t)lround(share) : UINT32_MAX;
}

static uint16_t change_share_of(uint64_t part, uint64_t whole)
{
	double share = whole ? SHARE * (double)part / (double)whole : 0;

	return share < UINT16_MAX ? (uint16_t)lround(share) : UINT16_MAX;
}

/* Learns the usual step from the last BLOCK samples, during which no change was suspected. */
static void change_learn_block(struct change *c)
{
	uint64_t a[BLOCK], mean_ns, med, weight = c->blocks < 7 ? c->blocks + 1 : 8;
	uint32_t at = (uint32_t)(c->blocks++ % BLOCKS);

	change_times(c, c->samples - BLOCK, c->samples, a);
	mean_ns = change_mean_of(a, BLOCK);
	c->median_ns[at] = med = order_median(a, BLOCK);
	c->spread[at] = change_millionths(order_spread(a, BLOCK, med), med);
	c->mean[(c->blocks - 1) % SUMS_GROUPS] = change_share_of(mean_ns, med);
	for (int i = 0; i < CHANGE_PARTS; i++) {
		int64_t more_ns = (int64_t)change_part_median(c, i, c->samples - BLOCK,
							      c->samples) -
				  (int64_t)c->part_ns[i];

		c->part_ns[i] = (uint64_t)((int64_t)c->part_ns[i] + more_ns / (int64_t)weight);
	}
	c->block_at = c->samples;
	if (c->blocks > 1 || !change_resize_sample(c))
		change_learn_usual(c);
}

/* Learns the usual step anew, from the last samples. */
static void change_learn_anew(struct change *c)
{
	c->blocks = 0;
	memset(c->scale, 0, sizeof(c->scale));
	change_learn_block(c);
	c->usual_ns = c->blocks ? c->median_ns[0] : 0;
	change_doubts_drop(c);
}

/* ---- doubts ---------------------------------------------------------------------------------- */

/* Adds the last sample to the sum of a suspected change. distance: from the level before the
 * change, as a share of the usual step, positive in the direction of the change; half: half of the
 * change that is looked for. */
static void change_doubt_add(struct change *c, struct doubt *d, double distance, double half)
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

/* Returns true if there are enough samples to confirm the suspected change. After twice
 * CHANGE_CONFIRM samples only every 8th is examined, to save time. */
static bool change_doubt_due(const struct change *c, const struct doubt *d)
{
	uint64_t n = c->samples - d->since;

	return d->raised && n >= CHANGE_CONFIRM && (n < 2 * CHANGE_CONFIRM || n % 8 == 0);
}

/* Returns the index of the first sample of a change from before_ns to after_ns. Looks only at
 * samples after step `number`; picks the sample from which the sum of distances to the middle of
 * both times, each clipped, is largest. */
static uint64_t change_index(const struct change *c, uint64_t number, uint64_t before_ns,
			     uint64_t after_ns)
{
	double middle = ((double)before_ns + (double)after_ns) / 2;
	double half = (double)after_ns - middle, sum = 0, best = 0;
	uint64_t oldest = more_than(c->samples, RING), at = c->samples - 1;

	for (uint64_t i = c->samples; i-- > oldest && change_past_number(c, i) > number;) {
		double more = ((double)change_past_at(c, i)->ns - middle) / half;

		sum += more > 1 ? 1 : more < -1 ? -1 : more;
		if (sum > best) {
			best = sum;
			at = i;
		}
	}
	return at;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns n if every n-th of the last `steps` steps is long, 0 if there is no such n. */
static uint32_t change_period(const struct change *c, uint64_t steps)
{
	const struct change_view *v = &c->reported;
	double limit = RAW_LOG * log2(1.5 * (double)v->after_ns - 0.5 * (double)v->before_ns);
	uint64_t n = smaller_of(steps, c->raw), last = 0;
	uint32_t gaps[PERIOD_MOST + 1] = {0}, all = 0, most = 0;

	n = smaller_of(n, RAW);
	for (uint64_t i = c->raw - n; i < c->raw; i++) {
		if (c->raw_log[i % RAW] < limit)
			continue;
		if (last) {
			uint64_t gap = i + 1 - last;

			gaps[gap < PERIOD_MOST ? gap : 0]++;
			all++;
		}
		last = i + 1;
	}
	for (uint32_t i = 2; i < PERIOD_MOST; i++)
		if (gaps[i] > gaps[most] || !most)
			most = i;
	return gaps[most] >= PERIOD_LEAST && 100 * gaps[most] >= PERIOD_AGREE * all ? most : 0;
}

/* ---- reporting ------------------------------------------------------------------------------- */

static void change_blame_by(struct change *c, uint64_t from,
			    uint64_t (*level)(const struct change *, int, uint64_t, uint64_t))
{
	struct change_view *v = &c->reported;
	int64_t all_ns = (int64_t)v->after_ns - (int64_t)v->before_ns;

	for (int i = 0; i < CHANGE_PARTS; i++) {
		v->grown_ns[i] = (int64_t)level(c, i, from, c->samples) - (int64_t)c->part_ns[i];
		if (v->grown_ns[i] > all_ns / 2 &&
		    (v->blame < 0 || v->grown_ns[i] > v->grown_ns[v->blame]))
			v->blame = i;
	}
}

/* Finds the part of the step that grew most since sample `from`, compared with its usual time. */
static void change_blame(struct change *c, uint64_t from)
{
	struct change_view *v = &c->reported;

	v->blame = -1;
	v->parts_known = c->parts_known;
	change_blame_by(c, from, change_part_median);
	if (v->mean && v->blame < 0)
		change_blame_by(c, from, change_part_mean);
	if (!c->parts_known) /* if no phases are known, "else" is the whole step */
		v->blame = -1;
}

/* Returns the index of the sample that contains this step, or of the oldest sample. */
static uint64_t change_index_of(const struct change *c, uint64_t number)
{
	uint64_t oldest = more_than(c->samples, RING), i = c->samples;

	while (i > oldest + 1 && change_past_number(c, i - 1) > number)
		i--;
	return i ? i - 1 : 0;
}

static void change_report_slower(struct change *c, const struct onset *o, uint64_t noticed)
{
	struct change_view *v = &c->reported;
	/* The tests of medians and of sums may date the onset before the end of the previous
	 * slowdown. Then the new slowdown begins at that end. */
	bool overlaps = o->start_ns < v->end_ns;

	*v = (struct change_view){
		.slow = true,
		.mean = o->mean,
		.count = v->count + 1,
		.onset_step = overlaps ? v->end_step : o->number,
		.onset_ns = overlaps ? v->end_ns : o->start_ns,
		.noticed_step = noticed,
		.before_ns = o->before_ns,
		.after_ns = o->after_ns,
	};
	change_blame(c, change_index_of(c, o->number));
	v->period = change_period(c, noticed + 1 - o->number);
	change_doubts_drop(c);
	for (int i = 0; i < SCALES; i++)
		change_sums_restart(&c->scale[i]);
}

static void change_report_recovered(struct change *c, uint64_t number, uint64_t start_ns)
{
	c->reported.slow = false;
	c->reported.end_step = number;
	c->reported.end_ns = start_ns;
	lasting_spell(&c->lasting, c->reported.onset_ns, start_ns);
	change_doubts_drop(c);
	for (int i = 0; i < SCALES; i++)
		change_sums_restart(&c->scale[i]);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static enum change_event change_step_slow(struct change *c, double usual, double distance)
{
	struct change_view *v = &c->reported;
	double level = change_larger((double)v->after_ns / usual - 1, c->least);
	uint64_t now_ns, at;

	change_doubt_add(c, &c->down, level - distance, level / 2);
	if (change_doubt_due(c, &c->down)) {
		now_ns = change_recent_median(c, false);
		if ((double)now_ns / usual - 1 <= USUAL_AGAIN * c->least) {
			at = change_index(c, v->onset_step, v->after_ns, now_ns);
			change_report_recovered(c, change_past_number(c, at),
						change_past_at(c, at)->start_ns);
			return CHANGE_RECOVERED;
		}
	}
	if (c->samples % 8 == 0 && !c->down.raised && !v->mean)
		v->after_ns = change_recent_median(c, true);
	return CHANGE_NONE;
}

static struct level change_means_before(const struct change *c)
{
	uint64_t n = smaller_of(c->blocks, SUMS_GROUPS), a[SUMS_GROUPS];

	for (uint64_t i = 0; i < n; i++) {
		uint64_t block = c->blocks - 1 - i;

		a[i] = change_share_ns(c->mean[block % SUMS_GROUPS] / SHARE,
				       c->median_ns[block % BLOCKS]);
	}
	return change_sums_level(a, n);
}

static struct level change_means_since(const struct change *c)
{
	uint64_t a[SUMS_GROUPS];

	for (uint32_t i = 0; i < SUMS_GROUPS; i++)
		a[i] = change_share_ns(c->pending.mean[i] / SHARE, c->usual_ns);
	return change_sums_level(a, c->pending.groups);
}

/* If the means (of the healthy blocks and of the groups since the onset) show another change than
 * the medians, stores the means in *o. Returns false while this is undecided. */
static bool change_onset_mean(const struct change *c, struct onset *o, uint64_t now_ns)
{
	struct level before = change_means_before(c), after = change_means_since(c);
	double ratio = after.mean / before.mean,
	       medians = (double)o->after_ns / (double)o->before_ns;
	double error = hypot(after.error, before.error * ratio) / before.mean;
	bool precise = change_sums_precise(ratio - 1, error);

	if (!(ratio >= 1 + CHANGE_MIN) || !(fabs(ratio - medians) >= MEAN_DIFFERS))
		return true;
	if (c->together > 1 && !precise && now_ns - o->start_ns < SUMS_PRECISE_NS)
		return false;
	if (error > MEAN_DIFFERS && !precise)
		return true;
	o->before_ns = (uint64_t)before.mean;
	o->after_ns = (uint64_t)after.mean;
	o->mean = true;
	return true;
}

static void change_pending_add(struct change *c, uint64_t sample_ns)
{
	struct pending *p = &c->pending;
	uint64_t most_ns = CHANGE_LONGEST_NS / PENDING_SAMPLES;

	p->sum_ns += smaller_of(sample_ns, most_ns);
	if (++p->count < PENDING_SAMPLES)
		return;
	p->mean[p->groups++ % SUMS_GROUPS] = change_share_of(p->sum_ns / p->count, c->usual_ns);
	p->sum_ns = p->count = 0;
}

/* Notes a slowdown from the sample with index `from` on, which is reported if it lasts. */
static void change_pending_begin(struct change *c, uint64_t from)
{
	c->pending = (struct pending){.number = change_past_number(c, from),
				      .start_ns = change_past_at(c, from)->start_ns};
	for (uint64_t i = from; i < c->samples; i++)
		change_pending_add(c, change_past_at(c, i)->ns);
}

/* Ends a slowdown that did not last long enough to be reported. */
static void change_pending_drop(struct change *c, uint64_t now_ns)
{
	if (c->pending.number && now_ns - c->pending.start_ns > LASTING_NS &&
	    lasting_noisy(&c->lasting, now_ns))
		lasting_spell(&c->lasting, c->pending.start_ns, now_ns);
	c->pending.number = 0;
}

static enum change_event change_confirm_slower(struct change *c, double usual, const struct step *s)
{
	uint64_t now_ns = change_recent_median(c, true), from, a[RING];
	struct onset o = {.before_ns = c->usual_ns};

	if ((double)now_ns / usual - 1 < c->least) {
		if ((double)now_ns / usual - 1 < c->least / 2)
			change_pending_drop(c, s->end_ns);
		return CHANGE_NONE;
	}
	from = c->pending.number ? change_index_of(c, c->pending.number)
				 : change_index(c, 0, c->usual_ns, now_ns);
	o.after_ns = order_median(a, change_times(c, from, c->samples, a));
	if ((double)o.after_ns / usual - 1 < c->least)
		return CHANGE_NONE;
	/* Steps became faster a short time ago, and are now as slow as before that: not a
	 * slowdown. */
	if (c->older_ns && (double)o.after_ns < (double)c->older_ns * (1 + c->least)) {
		change_learn_anew(c);
		return CHANGE_NONE;
	}
	if (!c->pending.number)
		change_pending_begin(c, from);
	o.number = c->pending.number;
	o.start_ns = c->pending.start_ns;
	if (!lasting_without_pause(&c->lasting, &o, s->end_ns) ||
	    !change_onset_mean(c, &o, s->end_ns))
		return CHANGE_NONE;
	change_report_slower(c, &o, s->number);
	c->found = 0;
	return CHANGE_SLOWER;
}

static void change_confirm_faster(struct change *c, double usual)
{
	if (1 - (double)change_recent_median(c, false) / usual < c->least)
		return;
	c->older_ns = larger_of(c->usual_ns, c->older_ns);
	change_learn_anew(c);
}

static bool change_pending_lasts(const struct change *c, uint64_t now_ns)
{
	return c->pending.number &&
	       now_ns - c->pending.start_ns >= lasting_needed_ns(&c->lasting, now_ns);
}

static enum change_event change_step_usual(struct change *c, double usual, double distance,
					   const struct step *s)
{
	enum change_event event = CHANGE_NONE;
	uint64_t give_up = GIVE_UP;

	if (c->pending.number)
		change_pending_add(c, change_past_at(c, c->samples - 1)->ns);
	change_doubt_add(c, &c->up, distance, c->least / 2);
	change_doubt_add(c, &c->down, -distance, c->least / 2);
	if (c->up.sum <= 0)
		change_pending_drop(c, s->end_ns);
	if (change_doubt_due(c, &c->up) || (c->up.raised && change_pending_lasts(c, s->end_ns)))
		event = change_confirm_slower(c, usual, s);
	else if (change_doubt_due(c, &c->down))
		change_confirm_faster(c, usual);
	/* A slowdown that must last before it is reported stays suspected for that time. */
	if (c->pending.number && s->end_ns - c->pending.start_ns < DOUBT_NS)
		give_up = UINT64_MAX;
	if ((c->up.raised && c->samples - c->up.since > give_up) ||
	    (c->down.raised && c->samples - c->down.since > GIVE_UP))
		change_doubts_drop(c);
	if (c->up.raised ||
	    c->down.raised) /* the usual step is learnt only while no change is suspected */
		c->block_at = c->samples;
	return event;
}

static enum change_event change_scale_slow(struct change *c, struct scale *sc, uint64_t ns)
{
	struct change_view *v = &c->reported;

	if (change_sums_over(sc, ns)) {
		change_report_recovered(c, sc->run_number, sc->run_start_ns);
		return CHANGE_RECOVERED;
	}
	if (sc->score <= 0 && sc->run >= SUMS_RUN_LEAST)
		v->after_ns = (uint64_t)change_sums_level(sc->run_ns, sc->run).mean;
	return CHANGE_NONE;
}

static enum change_event change_scale_usual(struct change *c, int i, const struct step *s)
{
	struct scale *sc = &c->scale[i];
	struct onset o;

	uint64_t lasting = lasting_needed_ns(&c->lasting, s->end_ns) +
			   (c->pending.number ? MEDIAN_FIRST_NS : 0);

	if (!sc->run || !c->usual_ns || s->end_ns - sc->run_start_ns < lasting)
		return CHANGE_NONE;
	if (change_sums_changed(sc, &c->lasting, s->end_ns, &o)) {
		change_report_slower(c, &o, s->number);
		c->found = 1 + (uint64_t)i;
		return CHANGE_SLOWER;
	}
	/* After a change that is too small to be reported, the new step time counts as the usual
	 * one after a while. */
	if (sc->run > 2 * SUMS_GROUPS && s->end_ns - sc->run_start_ns > DOUBT_NS)
		change_sums_learn_run(sc);
	return CHANGE_NONE;
}

/* Passes the last sample to the tests of sums, one for each size of groups. */
static enum change_event change_sums_sample(struct change *c, const struct step *s)
{
	const struct past *p = change_past_at(c, c->samples - 1);
	enum change_event event = CHANGE_NONE;
	uint64_t ns;
	bool complete;

	lasting_part(&c->lasting, p->start_ns, p->ns, s->end_ns);
	for (int i = 0; i < SCALES && event == CHANGE_NONE; i++) {
		struct scale *sc = &c->scale[i];

		if (c->reported.slow && c->found != 1 + (uint64_t)i)
			continue;
		complete = change_sums_add(sc, change_past_number(c, c->samples - 1), p->start_ns,
					   p->ns, scale_samples[i], &ns);
		if (complete && !c->reported.slow)
			change_sums_doubt(sc, &c->lasting, ns, s->end_ns);
		if (!c->reported.slow)
			event = change_scale_usual(c, i, s);
		else if (complete)
			event = change_scale_slow(c, sc, ns);
	}
	return event;
}

/* Returns false for a step with another number of micro-batches or another optimizer (a search over
 * settings trains one model after another). A single such step (the end of an epoch) is ignored;
 * after many the usual step is learnt again. */
static bool change_same_work(struct change *c, const struct step *s)
{
	if (!c->raw || (s->micro_batches == c->micro_batches && s->optimizer == c->optimizer)) {
		c->micro_batches = s->micro_batches;
		c->optimizer = s->optimizer;
		c->others = 0;
	} else {
		c->others++;
	}
	return !c->others;
}

static enum change_event change_learn_other_work(struct change *c, const struct step *s)
{
	bool slow = c->reported.slow;

	if (c->others < BLOCK)
		return CHANGE_NONE;
	c->reported.other_optimizer = s->optimizer != c->optimizer;
	c->micro_batches = s->micro_batches;
	c->optimizer = s->optimizer;
	c->others = 0;
	change_forget_usual(c);
	c->together = 0;
	change_doubts_drop(c);
	if (!slow)
		return CHANGE_NONE;
	c->reported.slow = false;
	c->reported.incomparable = true;
	c->reported.end_step = s->number;
	c->reported.end_ns = s->start_ns;
	return CHANGE_RECOVERED;
}

enum change_event change_step(struct change *c, const struct fact_step *fs)
{
	enum change_event event = CHANGE_NONE;
	double usual, distance;

	if (fs->step.flags & NO_SAMPLE || fs->step.end_ns <= fs->step.start_ns ||
	    fs->step.end_ns - fs->step.start_ns > CHANGE_LONGEST_NS)
		return CHANGE_NONE;
	if (c->skipped < FIRST) {
		c->skipped++;
		return CHANGE_NONE;
	}
	if (!change_same_work(c, &fs->step))
		return change_learn_other_work(c, &fs->step);
	if (!change_sample_add(c, fs))
		return CHANGE_NONE;
	if (c->usual_ns && !(c->reported.slow && c->found)) {
		usual = (double)c->usual_ns;
		distance = (double)change_past_at(c, c->samples - 1)->ns / usual - 1;
		event = c->reported.slow ? change_step_slow(c, usual, distance)
					 : change_step_usual(c, usual, distance, &fs->step);
	}
	if (event == CHANGE_NONE)
		event = change_sums_sample(c, &fs->step);
	if (c->reported.slow)
		c->block_at = c->samples;
	else if (c->samples - c->block_at == BLOCK)
		change_learn_block(c);
	return event;
}

static void change_doubt_archive(struct archive *a, struct doubt *d, uint64_t samples)
{
	archive_fields(a, d, sum, since, raised);
	archive_require(a, d->since <= samples);
}

static void change_reported_archive(struct archive *a, struct change_view *v)
{
	archive_fields(a, v, slow, mean, period, incomparable, other_optimizer, count, onset_step,
		       onset_ns, noticed_step, before_ns, after_ns, end_step, end_ns, grown_ns,
		       parts_known, blame);
	archive_require(a, v->blame >= -1 && v->blame < CHANGE_PARTS);
	archive_require(a, v->before_ns <= CHANGE_LONGEST_NS && v->after_ns <= CHANGE_LONGEST_NS);
}

static void change_means_archive(struct archive *a, struct change *c)
{
	archive_below(a, &c->together, SAMPLE_STEPS + 1);
	archive_fields(a, c, making.steps, making.ns, making.start_ns, making.number,
		       making.phase_ns);
	archive_require(a, c->making.ns < 64 * SAMPLE_NS);
	archive_fields(a, c, raw_log, raw);
	for (int i = 0; i < SCALES; i++)
		change_sums_archive(a, &c->scale[i], scale_samples[i]);
	archive_fields(a, c, pending.number, pending.start_ns, mean, pending.mean, pending.groups,
		       pending.sum_ns);
	archive_below(a, &c->pending.count, PENDING_SAMPLES);
	lasting_archive(a, &c->lasting);
	archive_below(a, &c->found, SCALES + 1);
}

static void change_ring_archive(struct archive *a, struct change *c)
{
	for (uint64_t i = 0; i < RING && i < c->samples; i++) {
		struct past *p = &c->ring[i];

		archive_fields(a, p, ns, start_ns, number, share);
		archive_require(a, p->ns <= CHANGE_LONGEST_NS);
	}
}

void change_archive(struct archive *a, struct change **at)
{
	struct change *c = *at = archive_object(a, *at, sizeof(*c));

	if (!c)
		return;
	archive_fields(a, c, samples, skipped, number);
	change_ring_archive(a, c);
	change_means_archive(a, c);
	archive_field(a, c->blocks);
	for (uint64_t i = 0; i < BLOCKS && i < c->blocks; i++)
		archive_fields(a, c, median_ns[i], spread[i]);
	archive_fields(a, c, block_at, usual_ns, older_ns, least);
	for (int i = 0; i < CHANGE_PARTS; i++) {
		archive_field(a, c->part_ns[i]);
		archive_require(a, c->part_ns[i] <= CHANGE_LONGEST_NS);
	}
	archive_fields(a, c, parts_known, micro_batches, optimizer, others);
	change_doubt_archive(a, &c->up, c->samples);
	change_doubt_archive(a, &c->down, c->samples);
	change_reported_archive(a, &c->reported);
	archive_require(a, c->block_at <= c->samples && c->samples - c->block_at < BLOCK);
	archive_require(a, !c->usual_ns || (c->samples >= CHANGE_LEARN && c->least >= CHANGE_MIN));
	archive_require(a, !c->reported.slow || c->usual_ns);
}

uint64_t change_before_ns(const struct change *c)
{
	return c->reported.slow ? c->reported.before_ns : 0;
}

void change_view(const struct change *c, struct change_view *ret)
{
	*ret = c->reported;
	ret->usual_ns = c->usual_ns;
	ret->known = c->usual_ns;
}
