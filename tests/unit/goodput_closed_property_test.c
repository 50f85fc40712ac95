/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of the closed semantics whatever a log says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/goodput_script.h"

#define RECORDS 220
#define ROUNDS	2000
#define WINDOWS 8
#define ATS	3

static struct goodput_record records[RECORDS];

static unsigned below(unsigned *seed, unsigned n)
{
	return (unsigned)rand_r(seed) % n;
}

/* A job that starts, steps, crashes and resumes; now and then a record that has no place in it. */
static void make_log(unsigned seed)
{
	bool tidy = seed % 4 == 0;
	int64_t number = 0;
	double at = 0;

	for (size_t i = 0; i < RECORDS; i++) {
		unsigned what = i ? below(&seed, 100) : 99;
		struct goodput_record *r = &records[i];

		at += below(&seed, 3000) / 1000.0;
		if (below(&seed, 60) == 0)
			at += below(&seed, 2000);
		*r = script_record(GOODPUT_STEP, at);
		if (what >= 97) {
			r->kind = GOODPUT_JOB_START;
			number -= below(&seed, (unsigned)number + 2);
			number = number < 0 ? 0 : number;
		} else if (what == 96 && !tidy) {
			r->kind = GOODPUT_JOB_END;
		} else if (what >= 55) {
			r->kind = (uint8_t)below(&seed, GOODPUT_KINDS);
			r->kind = r->kind == GOODPUT_JOB_END ? GOODPUT_STEP : r->kind;
			r->name = below(&seed, 3);
			r->duration_us = below(&seed, 4) ? (int64_t)below(&seed, 9000000)
							 : GOODPUT_UNKNOWN;
			r->total = 1 + below(&seed, 4);
			r->active = r->available = below(&seed, r->total + 1);
		}
		if (r->kind == GOODPUT_STEP || r->kind == GOODPUT_JOB_START)
			r->number = number++;
		if (tidy)
			continue;
		if (below(&seed, 30) == 0)
			r->time_us = r->write_us - (int64_t)below(&seed, 60000000);
		if (below(&seed, 150) == 0)
			r->time_us = (int64_t)below(&seed, 2) * 4102444800000000;
		if (below(&seed, 40) == 0)
			number += below(&seed, 5);
		if (below(&seed, 50) == 0 && number)
			number -= 1 + below(&seed, (unsigned)number);
		if (i && below(&seed, 40) == 0)
			*r = records[below(&seed, (unsigned)i)];
	}
}

static void check_part(const struct goodput_part *p, double of)
{
	double sum = p->productive_s, custom = 0;

	assert_true(p->productive_s >= 0);
	for (int i = 0; i < BADPUTS; i++) {
		assert_true(p->badput_s[i] >= 0);
		sum += p->badput_s[i];
	}
	for (size_t i = 0; i < p->custom_count; i++)
		custom += p->custom[i].s;
	assert_seconds(sum, of);
	assert_seconds(p->residual_s, 0);
	assert_seconds(custom, p->badput_s[BADPUT_CUSTOM]);
}

static void same(const struct goodput_part *a, const struct goodput_part *b)
{
	assert_seconds(a->total_s, b->total_s);
	assert_seconds(a->productive_s, b->productive_s);
	for (int i = 0; i < BADPUTS; i++)
		assert_seconds(a->badput_s[i], b->badput_s[i]);
	assert_int_equal(a->disruptions, b->disruptions);
	assert_int_equal(a->max_productive_step, b->max_productive_step);
	assert_int_equal(a->last_recorded_step, b->last_recorded_step);
	assert_seconds(a->ideal_s, b->ideal_s);
	assert_seconds(a->deviation_mean_s, b->deviation_mean_s);
}

/* Feeds what was written by until_us; asks in between, in vain. */
static void run(const struct goodput_query *q, unsigned asked, int64_t until_us,
		struct goodput_answer *ret)
{
	void *e = goodput_closed.create(q, script_scale_up, NULL);

	for (size_t i = 0; i < RECORDS; i++) {
		if (records[i].write_us > until_us)
			continue;
		assert_int_equal(goodput_closed.feed(e, &records[i]), 0);
		if (asked && rand_r(&asked) % 20 == 0) {
			struct goodput_answer a = {0};

			assert_int_equal(goodput_closed.answer(e, &a), 0);
			check_part(&a.cumulative, a.cumulative.total_s);
			goodput_answer_free(&a);
		}
	}
	assert_int_equal(goodput_closed.answer(e, ret), 0);
	goodput_closed.destroy(e);
}

/* Windows that lie side by side are the whole. */
static void check_windows(const struct goodput_answer *a)
{
	struct goodput_part sum = {0};

	for (size_t i = 0; i < a->window_count; i++) {
		const struct goodput_part *p = &a->windows[i];

		check_part(p, p->total_s);
		sum.total_s += p->total_s;
		sum.productive_s += p->productive_s;
		sum.disruptions += p->disruptions;
		for (int b = 0; b < BADPUTS; b++)
			sum.badput_s[b] += p->badput_s[b];
	}
	assert_seconds(sum.total_s, a->cumulative.total_s);
	assert_seconds(sum.productive_s, a->cumulative.productive_s);
	assert_int_equal(sum.disruptions, a->cumulative.disruptions);
	for (int b = 0; b < BADPUTS; b++)
		assert_seconds(sum.badput_s[b], a->cumulative.badput_s[b]);
}

static void check_log(unsigned seed)
{
	struct goodput_span windows[WINDOWS], cuts[2];
	int64_t at[ATS], last_us = records[RECORDS - 1].write_us;
	struct goodput_query q = {.now_us = seed % 3 ? last_us + 10000000 : GOODPUT_UNKNOWN,
				  .windows = windows,
				  .window_count = WINDOWS,
				  .excludes = cuts,
				  .exclude_count = 2,
				  .at_us = at,
				  .at_count = ATS,
				  .elastic = seed % 2};
	struct goodput_answer a = {0}, b = {0};

	for (int64_t i = 0; i < WINDOWS; i++) {
		windows[i].from_us = i ? windows[i - 1].to_us : 0;
		windows[i].to_us = i + 1 < WINDOWS
					   ? T0_US + (last_us - T0_US) * (i + 1) / WINDOWS + i
					   : 1ll << 53;
	}
	for (int i = 0; i < 2; i++) {
		cuts[i].from_us = T0_US + (int64_t)below(&seed, 600) * 1000000;
		cuts[i].to_us = cuts[i].from_us + (int64_t)below(&seed, 300) * 1000000;
	}
	for (int i = 0; i < ATS; i++)
		at[i] = records[below(&seed, RECORDS)].write_us + (int64_t)below(&seed, 2);
	run(&q, 0, INT64_MAX, &a);
	check_part(&a.cumulative, a.cumulative.total_s);
	check_part(&a.excluded, a.excluded.adjusted_s);
	assert_seconds(a.excluded.excluded_s + a.excluded.adjusted_s, a.cumulative.total_s);
	check_windows(&a);
	run(&q, seed | 1, INT64_MAX, &b);
	same(&a.cumulative, &b.cumulative);
	same(&a.excluded, &b.excluded);
	for (int i = 0; i < WINDOWS; i++)
		same(&a.windows[i], &b.windows[i]);
	assert_memory_equal(a.warnings, b.warnings, sizeof(a.warnings));
	assert_int_equal(a.disruption_count, b.disruption_count);
	if (a.disruption_count)
		assert_memory_equal(a.disruptions, b.disruptions,
				    a.disruption_count * sizeof(*a.disruptions));
	goodput_answer_free(&b);
	for (int i = 0; i < ATS; i++) {
		struct goodput_query then = {.now_us = at[i], .elastic = q.elastic};

		check_part(&a.at[i], a.at[i].total_s);
		run(&then, 0, at[i], &b);
		same(&a.at[i], &b.cumulative);
		goodput_answer_free(&b);
	}
	goodput_answer_free(&a);
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		make_log(seed);
		check_log(seed);
	}
}

/* More intervals in one stretch than a live ledger keeps. */
static void test_many_intervals(void **state)
{
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN};
	void *e = goodput_closed.create(&q, script_scale_up, NULL);
	struct goodput_answer a = {0};
	struct goodput_record r;

	(void)state;
	for (int i = 0; i <= 4; i++) {
		r = script_record(GOODPUT_STEP, i * 4000.0);
		r.number = i * 4000;
		goodput_closed.feed(e, &r);
		for (int k = 0; i < 4 && k < 4000; k++) {
			r = script_record(k % 2 ? GOODPUT_LOAD_START : GOODPUT_CUSTOM_START,
					  i * 4000.0 + k);
			goodput_closed.feed(e, &r);
			r = script_record(k % 2 ? GOODPUT_LOAD_END : GOODPUT_CUSTOM_END,
					  i * 4000.0 + k + 0.25);
			goodput_closed.feed(e, &r);
		}
	}
	assert_int_equal(goodput_closed.answer(e, &a), 0);
	assert_seconds(a.cumulative.productive_s, 12000);
	assert_seconds(a.cumulative.badput_s[BADPUT_CUSTOM], 2000);
	assert_seconds(a.cumulative.badput_s[BADPUT_LOAD_SYNC], 2000);
	assert_int_equal(a.warnings[WARN_CROWDED], 0);
	goodput_answer_free(&a);
	goodput_closed.destroy(e);
}

/* More than are kept at all: the sum holds, and it is told. */
static void test_crowded(void **state)
{
	struct goodput_query q = {.now_us = GOODPUT_UNKNOWN};
	void *e = goodput_closed.create(&q, script_scale_up, NULL);
	struct goodput_answer a = {0};
	struct goodput_record r;

	(void)state;
	for (int k = 0; k <= 20000; k++) {
		r = script_record(k % 20000 ? GOODPUT_LOAD_START : GOODPUT_STEP, k);
		r.number = k / 20000;
		goodput_closed.feed(e, &r);
		r = script_record(k % 2 ? GOODPUT_CUSTOM_START : GOODPUT_LOAD_END, k + 0.25);
		goodput_closed.feed(e, &r);
		r = script_record(k % 2 ? GOODPUT_CUSTOM_END : GOODPUT_LOAD_END, k + 0.5);
		goodput_closed.feed(e, &r);
	}
	assert_int_equal(goodput_closed.answer(e, &a), 0);
	check_part(&a.cumulative, a.cumulative.total_s);
	assert_true(a.warnings[WARN_CROWDED] > 0);
	goodput_answer_free(&a);
	goodput_closed.destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_many_intervals),
		cmocka_unit_test(test_crowded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
