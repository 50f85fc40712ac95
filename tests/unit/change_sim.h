/* SPDX-License-Identifier: Apache-2.0 */
/* change_sim.h - step times of a job for tests of model/change: healthy ones with all that a
 * healthy job has, and a slowdown where asked for. Deterministic: the seed is the job. */
#ifndef TESTS_UNIT_CHANGE_SIM_H
#define TESTS_UNIT_CHANGE_SIM_H

#include <math.h>
#include <stdint.h>

#include "userspace/model/time/change.h"

struct sim {
	uint64_t seed;
	uint64_t step_ns;		 /* usual */
	double noise;			 /* of the logarithm, a standard deviation */
	double correlation;		 /* of the noise from step to step; 0: none */
	double drift_per_day;		 /* share of step_ns */
	uint64_t eval_every, save_every; /* steps; 0: never. What of them lies inside a step */
	double straggler;		 /* chance of a step that takes five times as long */
	double pause;			 /* chance that a pause of 1..3 steps begins */
	uint64_t slow_from, slow_to;	 /* steps; 0: never */
	double slow_by;			 /* 0.1: 10 % */
	/* Slow in shapes that a median does not show. */
	uint64_t every;	 /* from slow_from on only every so many-th step is slow; 0: each */
	double every_ns; /* ... or the first step after so much time (a garbage collector); 0:
			  * not */
	double burst_ns, burst_of_ns; /* ... or those in the first part of each such interval
					 (another program) */
	/* A machine that is shared: for seconds at a time, at random, others run on it. */
	double busy_ns, quiet_ns, busy_by; /* mean lengths; 0: it is not shared */
	/* of the run */
	uint64_t number, now_ns, rng, pausing, busy_until_ns, quiet_until_ns;
	uint64_t collected;
	double busy_now;
	double spare, last;
	int have_spare;
};

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 (SplitMix64). */
static inline uint64_t sim_random(struct sim *s)
{
	uint64_t z = s->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline double sim_uniform(struct sim *s)
{
	return (double)(sim_random(s) >> 11) * 0x1p-53;
}

static inline double sim_normal(struct sim *s) /* Marsaglia's polar method */
{
	double u, v, q;

	if (s->have_spare) {
		s->have_spare = 0;
		return s->spare;
	}
	do {
		u = 2 * sim_uniform(s) - 1;
		v = 2 * sim_uniform(s) - 1;
		q = u * u + v * v;
	} while (q >= 1 || q == 0);
	q = sqrt(-2 * log(q) / q);
	s->spare = v * q;
	s->have_spare = 1;
	return u * q;
}

static inline void sim_start(struct sim *s)
{
	s->rng = s->seed * 0xd1342543de82ef95ull + 1;
	s->number = s->pausing = 0;
	s->now_ns = 1000000000ull;
	s->last = 0;
	s->have_spare = 0;
	s->busy_until_ns = s->quiet_until_ns = s->collected = 0;
	s->busy_now = 0;
}

static inline int sim_slow(struct sim *s)
{
	uint64_t since;

	if (!s->slow_from || s->number < s->slow_from || (s->slow_to && s->number >= s->slow_to))
		return 0;
	if (s->every)
		return s->number % s->every == 0;
	if (s->every_ns > 0) {
		since = (uint64_t)((double)s->now_ns / s->every_ns);
		if (s->collected == since)
			return 0;
		s->collected = since;
		return 1;
	}
	return s->burst_of_ns <= 0 || fmod((double)s->now_ns, s->burst_of_ns) < s->burst_ns;
}

static inline double sim_busy(struct sim *s)
{
	if (s->busy_ns <= 0)
		return 0;
	if (s->now_ns >= s->quiet_until_ns) {
		s->busy_until_ns = s->now_ns + (uint64_t)(-log(1 - sim_uniform(s)) * s->busy_ns);
		s->quiet_until_ns = s->busy_until_ns +
				    (uint64_t)(-log(1 - sim_uniform(s)) * s->quiet_ns);
		s->busy_now = sim_uniform(s) * s->busy_by;
	}
	return s->now_ns < s->busy_until_ns ? s->busy_now : 0;
}

/* An evaluation or a checkpoint between steps costs a step nothing; what lies inside one does. */
static inline double sim_extra(struct sim *s)
{
	double steps = 0;

	if (s->eval_every && s->number % s->eval_every == 0)
		steps += 20;
	if (s->save_every && s->number % s->save_every == 0)
		steps += 3;
	if (sim_uniform(s) < s->straggler)
		steps += 4;
	if (!s->pausing && sim_uniform(s) < s->pause)
		s->pausing = 1 + sim_random(s) % 3;
	if (s->pausing) {
		s->pausing--;
		steps += 0.3;
	}
	return steps;
}

static inline void sim_step(struct sim *s, struct fact_step *ret)
{
	double days = (double)s->now_ns / 86400e9, t, slow = 1;

	s->number++;
	s->last = s->correlation * s->last +
		  sqrt(1 - s->correlation * s->correlation) * sim_normal(s);
	t = exp(s->noise * s->last) * (1 + s->drift_per_day * days);
	if (sim_slow(s))
		slow += s->slow_by;
	slow += sim_busy(s);
	*ret = (struct fact_step){
		.step = {.number = s->number,
			 .micro_batches = 1,
			 .updates = 1,
			 .start_ns = s->now_ns},
		.phases_known = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD,
	};
	ret->phase_ns[PHASE_BACKWARD] = (uint64_t)(0.5 * t * (double)s->step_ns);
	ret->phase_ns[PHASE_FORWARD] = (uint64_t)((0.3 + slow - 1) * t * (double)s->step_ns);
	s->now_ns += (uint64_t)((t * slow + sim_extra(s)) * (double)s->step_ns);
	ret->step.end_ns = s->now_ns;
}

static inline struct sim sim_healthy(uint64_t seed, uint64_t step_ns)
{
	struct sim s = {
		.seed = seed,
		.step_ns = step_ns,
		.noise = 0.03,
		.drift_per_day = seed % 2 ? 0.005 : -0.005,
		.eval_every = 1000,
		.save_every = 500,
		.straggler = 0.001,
		.pause = 0.002,
	};

	sim_start(&s);
	return s;
}

#endif
