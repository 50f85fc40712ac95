/* SPDX-License-Identifier: Apache-2.0 */
/* A log written by hand, and what the library's engine makes of it. Times are seconds after
 * START. */
#ifndef TESTS_UNIT_GOODPUT_RUN_H
#define TESTS_UNIT_GOODPUT_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/account/log/job_log.h"

#define START_US 1735725600000000ll
#define SCALE_UP 7 /* a name of elastic waits for more slices */

struct log_run {
	struct goodput_query q;
	void *engine;
	struct goodput_answer a;
};

static inline int64_t run_us(double s)
{
	return START_US + llround(s * 1e6);
}

static inline bool run_scale_up(void *ctx, uint32_t name)
{
	(void)ctx;
	return name == SCALE_UP;
}

/* now_s: NAN where the log itself tells. */
static inline void run_open(struct log_run *r, double now_s)
{
	r->q.semantics = GOODPUT_LIBRARY;
	r->q.now_us = isnan(now_s) ? GOODPUT_UNKNOWN : run_us(now_s);
	r->engine = goodput_library.create(&r->q, run_scale_up, NULL);
	assert_non_null(r->engine);
}

static inline void run_record(struct log_run *r, struct goodput_record record)
{
	assert_int_equal(goodput_library.feed(r->engine, &record), 0);
}

/* number: of a step, or the name of an event. */
static inline void run_put(struct log_run *r, enum goodput_kind kind, double s, int64_t number)
{
	struct goodput_record record = {.kind = (uint8_t)kind,
					.time_us = run_us(s),
					.write_us = run_us(s),
					.number = number};

	if (kind != GOODPUT_STEP)
		record.name = (uint32_t)number;
	run_record(r, record);
}

static inline void run_steps(struct log_run *r, int64_t from, int64_t to, double s, double each_s)
{
	for (int64_t n = from; n <= to; n++)
		run_put(r, GOODPUT_STEP, s + (double)(n - from) * each_s, n);
}

static inline void run_save(struct log_run *r, enum goodput_kind kind, double s, int64_t step,
			    double took_s, bool persistent)
{
	run_record(r, (struct goodput_record){.kind = (uint8_t)kind,
					      .time_us = run_us(s),
					      .write_us = run_us(s),
					      .number = step,
					      .duration_us = isnan(took_s) ? GOODPUT_UNKNOWN
									   : llround(took_s * 1e6),
					      .persistent = persistent});
}

/* Asked twice: asking changes nothing. */
static inline const struct goodput_part *run_answer(struct log_run *r)
{
	assert_int_equal(goodput_library.answer(r->engine, &r->a), 0);
	goodput_answer_free(&r->a);
	assert_int_equal(goodput_library.answer(r->engine, &r->a), 0);
	return &r->a.cumulative;
}

static inline void run_close(struct log_run *r)
{
	goodput_answer_free(&r->a);
	goodput_library.destroy(r->engine);
}

#define assert_close(a, b)                                                                         \
	do {                                                                                       \
		double got_ = (a), expected_ = (b);                                                \
		if (!(fabs(got_ - expected_) <= 1e-6))                                             \
			fail_msg("%s is %.9f, not %.9f", #a, got_, expected_);                     \
	} while (0)
#define HAS(p, id)     ((p)->has_s >> BADPUT_##id & 1)
#define SECONDS(p, id) ((p)->badput_s[BADPUT_##id])
#define PERCENT(p, id) ((p)->badput_pct[BADPUT_##id])

#endif
