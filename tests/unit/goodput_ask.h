/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the closed semantics about a small log; what tests of its rules share. After cmocka.h. */
#ifndef TESTS_UNIT_GOODPUT_ASK_H
#define TESTS_UNIT_GOODPUT_ASK_H

#include "tests/unit/goodput_script.h"

#define NEVER (-1.0)

static struct goodput_answer answer;
static int64_t ideal_us; /* 0: found */

static inline int feed(void *ctx, const struct goodput_record *r)
{
	return goodput_closed.feed(ctx, r);
}

static inline void ask(const char *script, const struct goodput_query *q)
{
	void *e = goodput_closed.create(q, script_scale_up, NULL);
	double sum;

	goodput_answer_free(&answer);
	assert_int_equal(script_tell(script, feed, e), 0);
	assert_int_equal(goodput_closed.answer(e, &answer), 0);
	goodput_closed.destroy(e);
	sum = answer.cumulative.productive_s;
	for (int i = 0; i < BADPUTS; i++)
		sum += answer.cumulative.badput_s[i];
	assert_seconds(sum, answer.cumulative.total_s);
	assert_seconds(answer.cumulative.residual_s, 0);
}

static inline void tell(const char *script, double now)
{
	struct goodput_query q = {.now_us = now == NEVER ? GOODPUT_UNKNOWN : script_us(now),
				  .ideal_us = ideal_us};

	ask(script, &q);
}

static inline void good(double s)
{
	assert_seconds(answer.cumulative.productive_s, s);
}

static inline void bad(enum goodput_badput b, double s)
{
	assert_seconds(answer.cumulative.badput_s[b], s);
}

static inline void warned(enum goodput_warning w, uint64_t n)
{
	assert_int_equal(answer.warnings[w], n);
}

static inline const struct disruption *disrupted(size_t n)
{
	assert_int_equal(answer.cumulative.disruptions, n);
	assert_int_equal(answer.disruption_count, n);
	return answer.disruptions;
}

static inline double at_s(uint64_t ns)
{
	return (double)((int64_t)(ns / 1000) - T0_US) / 1e6;
}

/* 5 s of boot, ten steps of 2 s, end. */
#define BOOT "start 0; init 1 2; prep 2 4; load 4 5;"

static inline int teardown(void **state)
{
	(void)state;
	goodput_answer_free(&answer);
	return 0;
}

#endif
