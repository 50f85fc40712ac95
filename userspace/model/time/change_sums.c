/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/change_sums.h"

#include <math.h>
#include <string.h>

#include "userspace/model/time/change.h"
#include "userspace/base/order.h"
#include "userspace/base/number.h"

/* Share of the groups that are long in a slowdown. */
#define LONG_SHARE 0.85
/* A slowdown is reported at this logarithm of its likelihood ratio: chance makes it 1 time in 9
 * million. */
#define LONG_SURE 16.0
/* A slowdown has ended at this logarithm of the likelihood ratio: five usual groups in a row. */
#define USUAL_SURE 8.0

static double change_sums_larger(double a, double b)
{
	return a > b ? a : b;
}

static double change_sums_smaller(double a, double b)
{
	return a < b ? a : b;
}

bool change_sums_precise(double size, double error)
{
	return error <= SUMS_PRECISE || error <= SUMS_PRECISE_SIZE * size;
}

struct level change_sums_level(const uint64_t *groups, uint64_t ever)
{
	uint32_t n = smaller_of(ever, SUMS_GROUPS), cut = n < 3 ? 0 : n < 16 ? 1 : n / 8;
	double sum = 0, squares = 0, count = n - 2 * cut;
	uint64_t a[SUMS_GROUPS];
	struct level l = {0};

	if (!n)
		return l;
	memcpy(a, groups, n * sizeof(*a));
	order_sort(a, n);
	for (uint32_t i = cut; i < n - cut; i++)
		sum += (double)a[i];
	l.mean = sum / count;
	for (uint32_t i = cut; i < n - cut; i++)
		squares += ((double)a[i] - l.mean) * ((double)a[i] - l.mean);
	l.median = (double)order_sorted_median(a, n);
	l.error = sqrt(squares) / count;
	l.spread = order_sorted_spread(a, n, (uint64_t)l.median);
	return l;
}

static double change_sums_least(const struct level *l, uint64_t groups)
{
	double n = groups < SUMS_GROUPS ? (double)groups : SUMS_GROUPS;

	return change_sums_larger(CHANGE_MIN, BLOCK_SPREADS * MAD_SCALE * (1 + DOUBTED_BLOCKS / n) *
						      (double)l->spread / l->median);
}

/* Returns how much a group changes the logarithm of the likelihood ratio: a long one raises it, any
 * other lowers it. */
static double change_sums_evidence(const struct scale *sc, double limit, bool is_long)
{
	uint64_t n = sc->healthy < SUMS_GROUPS ? sc->healthy : SUMS_GROUPS, longs = 1;
	double share;

	for (uint64_t i = 0; i < n; i++)
		longs += (double)sc->healthy_ns[i] > limit;
	share = (double)longs / (double)(n + 4);
	if (share >= LONG_SHARE)
		return is_long ? 0 : -1;
	return is_long ? log(LONG_SHARE / share) : log((1 - LONG_SHARE) / (1 - share));
}

void change_sums_learn_run(struct scale *sc)
{
	uint64_t first = more_than(sc->run, SUMS_GROUPS);

	for (uint64_t i = first; i < sc->run; i++)
		sc->healthy_ns[sc->healthy++ % SUMS_GROUPS] = sc->run_ns[i % SUMS_GROUPS];
	sc->run = sc->run_long_ns = 0;
	sc->score = sc->most = 0;
}

/* Returns the step time (ns) above which a group is long: the usual time plus half of the smallest
 * change that is reported. */
static double change_sums_limit(const struct scale *sc, const struct level *usual)
{
	return usual->median * (1 + change_sums_least(usual, sc->healthy) / 2);
}

/* Returns true if most of the last groups are long: the slowdown continues. */
static bool change_sums_still(const struct scale *sc, double limit)
{
	uint32_t longs = 0;

	for (uint64_t i = sc->run - SUMS_RUN_LEAST; i < sc->run; i++)
		longs += (double)sc->run_ns[i % SUMS_GROUPS] > limit;
	return longs >= SUMS_RUN_LEAST - 2;
}

bool change_sums_changed(const struct scale *sc, const struct lasting *l, uint64_t now_ns,
			 struct onset *ret)
{
	struct level before = change_sums_level(sc->healthy_ns, sc->healthy),
		     after = change_sums_level(sc->run_ns, sc->run);

	*ret = (struct onset){
		.number = sc->run_number,
		.start_ns = sc->run_start_ns,
		.before_ns = (uint64_t)before.mean,
		.after_ns = (uint64_t)after.mean,
		.mean = true,
	};
	return sc->score > LONG_SURE && sc->run >= SUMS_RUN_LEAST &&
	       change_sums_still(sc, change_sums_limit(sc, &before)) &&
	       lasting_without_pause(l, ret, now_ns) &&
	       after.mean >= before.mean * (1 + change_sums_least(&before, sc->healthy)) &&
	       (change_sums_precise(after.mean / before.mean - 1, after.error / before.mean) ||
		now_ns - sc->run_start_ns >= SUMS_PRECISE_NS);
}

void change_sums_doubt(struct scale *sc, struct lasting *l, uint64_t ns, uint64_t now_ns)
{
	struct level usual = change_sums_level(sc->healthy_ns, sc->healthy);
	double limit = change_sums_limit(sc, &usual);
	bool is_long = (double)ns > limit;

	if (sc->healthy < SUMS_GROUPS_LEAST) {
		sc->healthy_ns[sc->healthy++ % SUMS_GROUPS] = ns;
		return;
	}
	if (!sc->run) {
		sc->run_number = sc->number;
		sc->run_start_ns = sc->start_ns;
	}
	sc->run_ns[sc->run++ % SUMS_GROUPS] = ns;
	sc->run_long_ns += is_long ? now_ns - sc->start_ns : 0;
	sc->score = change_sums_smaller(sc->score + change_sums_evidence(sc, limit, is_long),
					2 * LONG_SURE);
	sc->most = change_sums_larger(sc->most, sc->score);
	if (sc->score > 0)
		return;
	if (sc->most > LONG_SURE && sc->run_long_ns > LASTING_NS && lasting_noisy(l, now_ns) &&
	    l->spell_end_ns < sc->run_start_ns)
		lasting_spell(l, sc->run_start_ns, sc->run_start_ns + sc->run_long_ns);
	change_sums_learn_run(sc);
}

bool change_sums_over(struct scale *sc, uint64_t ns)
{
	struct level usual = change_sums_level(sc->healthy_ns, sc->healthy);
	double limit = change_sums_limit(sc, &usual);
	bool is_long = (double)ns > limit;

	if (sc->score <= 0) {
		sc->run_number = sc->number;
		sc->run_start_ns = sc->start_ns;
	}
	if (is_long)
		sc->run_ns[sc->run++ % SUMS_GROUPS] = ns;
	sc->score += log(LONG_SHARE / (1 - LONG_SHARE)) * (is_long ? -1 : 1);
	sc->score = sc->score < 0 ? 0 : sc->score;
	return sc->score > USUAL_SURE;
}

bool change_sums_add(struct scale *sc, uint64_t number, uint64_t start_ns, uint64_t sample_ns,
		     uint64_t samples, uint64_t *ret_ns)
{
	uint64_t most_ns = CHANGE_LONGEST_NS / samples;

	if (!sc->count) {
		sc->sum_ns = 0;
		sc->number = number;
		sc->start_ns = start_ns;
	}
	sc->sum_ns += smaller_of(sample_ns, most_ns);
	if (++sc->count < samples)
		return false;
	*ret_ns = sc->sum_ns / samples;
	sc->count = 0;
	return true;
}

void change_sums_restart(struct scale *sc)
{
	sc->sum_ns = sc->count = sc->run = sc->run_long_ns = 0;
	sc->score = sc->most = 0;
}

void change_sums_archive(struct archive *a, struct scale *sc, uint64_t samples)
{
	archive_field(a, sc->sum_ns);
	archive_below(a, &sc->count, samples);
	archive_fields(a, sc, number, start_ns, healthy_ns, healthy, run_ns, run, run_number,
		       run_start_ns, run_long_ns, score, most);
	archive_require(a, sc->sum_ns <= CHANGE_LONGEST_NS);
}
