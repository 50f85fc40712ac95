/* SPDX-License-Identifier: Apache-2.0 */
/* step_run.h - a process that trains, told to a step finder signal by signal; what each kind of
 * loop shows was measured on real torch. */
#ifndef TESTS_UNIT_STEP_RUN_H
#define TESTS_UNIT_STEP_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/step/step.h"

#define US	  1000ull
#define MS	  1000000ull
#define SEC	  1000000000ull
#define STEPS_MAX 8192

struct run { /* a process that trains, as the finder is told of it */
	struct step_finder *sf;
	uint64_t now_ns;
	uint32_t tid;
	bool deaf_ranges, deaf_zero_grad; /* this torch shows none */
	uint64_t true_end_ns;		  /* of the last update */
	struct step steps[STEPS_MAX];
	uint32_t n;
};

static inline void run_open(struct run *r, struct step_config cfg)
{
	memset(r, 0, sizeof(*r));
	r->sf = step_finder_new(&cfg);
	assert_non_null(r->sf);
	r->now_ns = 5 * SEC;
	r->tid = 100;
}

static inline void run_drain(struct run *r)
{
	struct step s;

	while (step_finder_next(r->sf, &s)) {
		assert_true(r->n < STEPS_MAX);
		r->steps[r->n++] = s;
	}
}

static inline void tell(struct run *r, struct signal s)
{
	s.tid = s.tid ? s.tid : r->tid;
	s.ts_ns = r->now_ns;
	s.begin_ns = s.begin_ns ? s.begin_ns : r->now_ns;
	s.text = s.text ? s.text : "";
	assert_int_equal(step_finder_feed(r->sf, &s), 0);
	run_drain(r);
}

static inline void pass(struct run *r, uint64_t ns)
{
	while ((r->now_ns + ns) / SEC > r->now_ns / SEC) {
		uint64_t to = (r->now_ns / SEC + 1) * SEC;

		ns -= to - r->now_ns;
		r->now_ns = to;
		tell(r, (struct signal){.kind = SIGNAL_TICK});
	}
	r->now_ns += ns;
}

static inline void fetch(struct run *r)
{
	uint64_t begin_ns = r->now_ns;

	tell(r, (struct signal){.kind = SIGNAL_FETCH_BEGIN});
	pass(r, 50 * US);
	tell(r, (struct signal){.kind = SIGNAL_FETCH, .begin_ns = begin_ns});
	pass(r, 300 * US);
}

static inline void backward(struct run *r)
{
	tell(r, (struct signal){.kind = SIGNAL_BACKWARD, .outer = true});
	pass(r, 500 * US);
}

static inline void zero_grad(struct run *r, uint32_t name)
{
	uint64_t begin_ns = r->now_ns;

	if (!r->deaf_zero_grad)
		tell(r, (struct signal){.kind = SIGNAL_ZERO_GRAD_BEGIN, .name = name});
	pass(r, 20 * US);
	if (!r->deaf_zero_grad)
		tell(r,
		     (struct signal){.kind = SIGNAL_ZERO_GRAD, .name = name, .begin_ns = begin_ns});
}

static inline void update_begin(struct run *r, uint32_t name)
{
	if (!r->deaf_ranges)
		tell(r, (struct signal){.kind = SIGNAL_UPDATE_BEGIN, .name = name, .text = "SGD"});
}

static inline void update_end(struct run *r, uint32_t name, uint64_t ident, uint64_t begin_ns)
{
	if (!r->deaf_ranges)
		tell(r, (struct signal){.kind = SIGNAL_UPDATE,
					.name = name,
					.ident = ident,
					.begin_ns = begin_ns,
					.text = "SGD"});
	r->true_end_ns = r->now_ns;
}

static inline void update(struct run *r, uint32_t name, uint64_t ident)
{
	uint64_t begin_ns = r->now_ns;

	update_begin(r, name);
	pass(r, 100 * US);
	update_end(r, name, ident, begin_ns);
	pass(r, 10 * US);
}

static inline void run_close(struct run *r)
{
	tell(r, (struct signal){.kind = SIGNAL_EXIT});
	step_finder_free(r->sf);
}

/* Numbers from 1, in order, adjacent, never backwards; per loop. Skipped ones take no number. */
static inline void check_steps(const struct run *r, uint32_t loop, uint32_t want)
{
	uint64_t number = 0, end_ns = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct step *s = &r->steps[i];

		if (s->loop != loop)
			continue;
		number += !(s->flags & STEP_skipped_update);
		assert_int_equal(s->number, number);
		assert_true(s->start_ns <= s->end_ns && (s->start_ns < s->end_ns || number == 1));
		if (end_ns)
			assert_int_equal(s->start_ns, end_ns);
		end_ns = s->end_ns;
	}
	assert_int_equal(number, want);
}

static inline struct step_state state_of(struct run *r, uint32_t loop)
{
	struct step_state st;

	assert_true(step_finder_state(r->sf, loop, &st, NULL));
	return st;
}

static const struct step_config plain = {.from_start = true};

static inline void plain_steps(struct run *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fetch(r);
		backward(r);
		update(r, 1, 0x1000);
		zero_grad(r, 1);
	}
}

#endif
