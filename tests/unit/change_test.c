/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/change_sim.h"
#include "userspace/base/buffer.h"

#define SECOND 1000000000ull
/* Long simulations are whole in the plain build, which is enough for their figures. With the
 * sanitizers, which look for errors of memory, one of each kind is enough. */
#ifdef __SANITIZE_ADDRESS__
#define SIMULATIONS(whole) 1
#else
#define SIMULATIONS(whole) (whole)
#endif

struct seen {
	uint32_t slower, recovered;
	uint64_t noticed, over; /* at which step it was reported */
	struct change_view view;
};

static void feed(struct change *c, struct sim *s, uint64_t steps, struct seen *seen)
{
	struct fact_step fs;

	for (uint64_t i = 0; i < steps; i++) {
		enum change_event event;

		sim_step(s, &fs);
		event = change_step(c, &fs);
		if (event == CHANGE_SLOWER) {
			seen->slower++;
			seen->noticed = fs.step.number;
		} else if (event == CHANGE_RECOVERED) {
			seen->recovered++;
			seen->over = fs.step.number;
		}
	}
	change_view(c, &seen->view);
}

static void feed_ns(struct change *c, struct sim *s, double ns, struct seen *seen)
{
	uint64_t from_ns = s->now_ns;

	while ((double)(s->now_ns - from_ns) < ns)
		feed(c, s, 1, seen);
}

static struct seen life(struct sim s, uint64_t steps)
{
	struct change *c = change_new();
	struct seen seen = {0};

	feed(c, &s, steps, &seen);
	change_free(c);
	return seen;
}

/* Fixed seeds, six job-days in all; tests/bench/change.c has the long form. */
static void test_healthy(void **state)
{
	(void)state;
	for (uint64_t job = 1; job <= 6; job++) {
		struct seen seen = life(sim_healthy(job, SECOND), 86400);

		assert_true(seen.view.known);
		assert_int_equal(seen.slower, 0);
		assert_int_equal(seen.recovered, 0);
	}
}

/* A year of 5 minute steps drifts by far more than a change. */
static void test_drift(void **state)
{
	struct sim s = sim_healthy(1, 300 * SECOND);
	struct seen seen;

	(void)state;
	seen = life(s, 100000);
	assert_int_equal(seen.slower, 0);
	assert_true(seen.view.usual_ns > 330 * SECOND);
}

static void test_slower(void **state)
{
	static const uint64_t step_ns[] = {10000000, SECOND, 30 * SECOND};

	(void)state;
	for (int k = 0; k < 3; k++) {
		uint32_t in_time = 0;
		/* A slowdown is reported when it lasted for 5 s. */
		uint64_t lasting = step_ns[k] < SECOND / 10 ? 5 * SECOND / step_ns[k] : 0;

		for (uint64_t job = 1; job <= 40; job++) {
			struct sim s = sim_healthy(job, step_ns[k]);
			struct seen seen;

			s.slow_from = 701;
			s.slow_to = 1501;
			s.slow_by = 0.10;
			seen = life(s, 2000);
			assert_int_equal(seen.slower, 1);
			assert_int_equal(seen.recovered, 1);
			assert_in_range(seen.noticed, 701, 800 + lasting);
			in_time += seen.noticed <= 760 + lasting;
			assert_in_range(seen.view.onset_step, 680, 722);
			assert_in_range(seen.view.end_step, 1480, 1522);
			assert_false(seen.view.slow);
			assert_int_equal(seen.view.blame, PHASE_FORWARD);
		}
		assert_true(in_time >= 38);
	}
}

/* Without noise every figure is exact, to the step. */
static struct sim exact(uint64_t slow_from, uint64_t slow_to, double by)
{
	struct sim s = {.seed = 1,
			.step_ns = SECOND,
			.slow_from = slow_from,
			.slow_to = slow_to,
			.slow_by = by};

	sim_start(&s);
	return s;
}

/* What was usual before a short slowdown is not where it ended. */
static void test_short(void **state)
{
	struct sim s = exact(701, 706, 0.5);
	struct change *c = change_new();
	struct seen seen = {0};

	(void)state;
	feed(c, &s, 717, &seen);
	s.slow_from = 718;
	s.slow_to = 735;
	feed(c, &s, 100, &seen);
	assert_int_equal(seen.slower, 1);
	assert_int_equal(seen.recovered, 1);
	assert_int_equal(seen.view.onset_step, 718);
	assert_int_equal(seen.view.end_step, 735);
	change_free(c);
}

static void test_exact(void **state)
{
	struct sim s = exact(301, 501, 0.25);
	struct change *c = change_new();
	struct seen seen = {0};

	(void)state;
	feed(c, &s, 300, &seen);
	assert_int_equal(seen.view.usual_ns, SECOND);
	assert_false(seen.view.slow);
	feed(c, &s, 150, &seen);
	assert_int_equal(seen.slower, 1);
	assert_int_equal(seen.noticed, 340);
	assert_true(seen.view.slow);
	assert_int_equal(seen.view.onset_step, 301);
	assert_int_equal(seen.view.onset_ns, 301 * SECOND); /* the first one starts at 1 s */
	assert_int_equal(seen.view.before_ns, SECOND);
	assert_int_equal(seen.view.after_ns, SECOND + SECOND / 4);
	assert_int_equal(seen.view.end_step, 0);
	assert_in_range(seen.view.grown_ns[PHASE_FORWARD], 249000000, 251000000);
	feed(c, &s, 200, &seen);
	assert_int_equal(seen.slower, 1);
	assert_int_equal(seen.recovered, 1);
	assert_int_equal(seen.over, 540);
	assert_int_equal(seen.view.end_step, 501);
	assert_int_equal(seen.view.end_ns, 301 * SECOND + 250 * SECOND);
	assert_int_equal(seen.view.count, 1);
	change_free(c);
}

/* Half of the steps that have to agree, and one less: a burst, no change. */
static void test_burst(void **state)
{
	struct seen seen = life(exact(301, 321, 3), 1000);

	(void)state;
	assert_int_equal(seen.slower, 0);
	seen = life(exact(301, 341, 0.30), 1000);
	assert_int_equal(seen.slower, 1);
	assert_int_equal(seen.recovered, 1);
	seen = life(exact(301, 0, 0.06), 1000);
	assert_int_equal(seen.slower, 0);
	seen = life(exact(301, 0, 0.08), 1000);
	assert_int_equal(seen.slower, 1);
}

/* What was usual not long ago is no slowness; what became usual again is. */
static void test_faster(void **state)
{
	struct seen seen = life(exact(301, 501, -0.2), 1500);

	(void)state;
	assert_int_equal(seen.slower, 0);
	assert_int_equal(seen.view.usual_ns, SECOND);
	seen = life(exact(301, 2001, -0.2), 3000);
	assert_int_equal(seen.slower, 1);
	assert_int_equal(seen.view.onset_step, 2001);
	assert_int_equal(seen.view.before_ns, SECOND / 5 * 4);
}

/* Steps that are no samples; the first ones; a step with more micro-batches, and many of them. */
static void test_no_samples(void **state)
{
	static const uint32_t flags[] = {STEP_tainted, STEP_imputed, STEP_recompiled,
					 STEP_estimated, STEP_hung};
	struct change *c = change_new();
	struct sim s = exact(1, 6, 100);
	struct fact_step fs;
	struct seen seen = {0};

	(void)state;
	feed(c, &s, 69, &seen);
	assert_int_equal(seen.view.usual_ns, SECOND);
	feed(c, &s, 500, &seen);
	for (uint32_t i = 0; i < 500; i++) {
		sim_step(&s, &fs);
		fs.step.end_ns += 5 * SECOND;
		fs.step.flags = flags[i % 5];
		assert_int_equal(change_step(c, &fs), CHANGE_NONE);
	}
	for (uint32_t i = 0; i < 100; i++) {
		sim_step(&s, &fs);
		fs.step.end_ns += SECOND;
		fs.step.micro_batches = 2;
		assert_int_equal(change_step(c, &fs), CHANGE_NONE);
	}
	change_view(c, &seen.view);
	assert_int_equal(seen.view.usual_ns, 2 * SECOND);
	change_free(c);
}

/* Other work while it is slow: nobody can tell whether it recovered. */
static void test_incomparable(void **state)
{
	struct sim s = exact(301, 0, 0.5);
	struct change *c = change_new();
	struct seen seen = {0};
	struct fact_step fs;
	uint32_t over = 0;

	(void)state;
	feed(c, &s, 400, &seen);
	assert_int_equal(seen.slower, 1);
	for (uint32_t i = 0; i < 100; i++) {
		sim_step(&s, &fs);
		fs.step.micro_batches = 4;
		over += change_step(c, &fs) == CHANGE_RECOVERED;
	}
	change_view(c, &seen.view);
	assert_int_equal(over, 1);
	assert_true(seen.view.incomparable);
	assert_false(seen.view.slow);
	change_free(c);
}

/* A search over settings trains a model after another: slower ones are no slowdown. */
static void test_other_optimizer(void **state)
{
	struct change *c = change_new();
	struct sim s = exact(0, 0, 0);
	struct seen seen = {0};
	struct fact_step fs;

	(void)state;
	for (uint32_t i = 0; i < 1200; i++) {
		sim_step(&s, &fs);
		s.now_ns += i / 300 % 2 * SECOND / 2;
		fs.step.end_ns = s.now_ns;
		fs.step.optimizer = 1 + i / 300;
		assert_int_equal(change_step(c, &fs), CHANGE_NONE);
	}
	feed(c, &s, 104, &seen); /* of no optimizer that is known: another one, too */
	assert_int_equal(seen.view.usual_ns, SECOND);
	change_free(c);
}

/* Saved anywhere, it goes on as if nothing had been. */
static void test_archive(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < 1200; at += 37) {
		struct sim s = sim_healthy(7, SECOND), twin;
		struct change *c = change_new(), *loaded = NULL;
		struct seen a = {0}, b = {0};
		struct buffer bytes = {0};
		struct archive ar;

		s.slow_from = 500;
		s.slow_to = 800;
		s.slow_by = 0.15;
		feed(c, &s, at, &a);
		archive_write(&ar, &bytes, "gp-test!", 1);
		change_archive(&ar, &c);
		assert_int_equal(archive_end(&ar), 0);
		archive_read(&ar, bytes.data, bytes.len, "gp-test!", 1);
		change_archive(&ar, &loaded);
		assert_int_equal(archive_end(&ar), 0);
		twin = s;
		b = a;
		feed(c, &s, 1200 - at, &a);
		feed(loaded, &twin, 1200 - at, &b);
		assert_int_equal(a.slower, b.slower);
		assert_int_equal(a.recovered, b.recovered);
		assert_int_equal(a.over, b.over);
		assert_int_equal(a.view.usual_ns, b.view.usual_ns);
		assert_int_equal(a.view.onset_step, b.view.onset_step);
		assert_int_equal(a.view.end_step, b.view.end_step);
		assert_int_equal(a.view.blame, b.view.blame);
		change_free(c);
		change_free(loaded);
		buffer_free(&bytes);
	}
}

struct shape {
	uint64_t step_ns;
	double noise, correlation;
	uint64_t every;
	double every_ns, burst_ns, burst_of_ns, by;
};

struct before { /* the loss: a slowdown of 50 % for so long, and so long before it */
	double short_s, ago_s;
};

/* A loss of this shape: reported within a minute, with its size within 3 points. */
static bool loss_reported(const struct shape *p, uint64_t job, const struct before *b)
{
	struct sim s = {.seed = job,
			.step_ns = p->step_ns,
			.noise = p->noise,
			.correlation = p->correlation,
			.slow_by = 0.5},
		   healthy;
	struct change *c = change_new();
	struct seen seen = {0};
	struct fact_step fs;
	uint64_t from_ns, from;
	double size, truth;

	sim_start(&s);
	feed_ns(c, &s, 90e9, &seen);
	if (b->short_s > 0) {
		s.slow_from = s.number + 1;
		feed_ns(c, &s, b->short_s * 1e9, &seen);
		s.slow_from = 0;
		feed_ns(c, &s, b->ago_s * 1e9, &seen);
		assert_int_equal(seen.slower, 1);
		assert_int_equal(seen.recovered, 1);
	} else {
		assert_int_equal(seen.slower, 0);
	}
	healthy = s;
	for (uint64_t n = 0; n < 1000; n++)
		sim_step(&healthy, &fs);
	truth = (double)(healthy.now_ns - s.now_ns) / 1000;
	s.every = p->every;
	s.every_ns = p->every_ns;
	s.burst_ns = p->burst_ns;
	s.burst_of_ns = p->burst_of_ns;
	s.slow_by = p->by;
	s.slow_from = s.number + 1;
	from_ns = s.now_ns;
	from = s.number;
	seen.slower = 0;
	while (s.now_ns - from_ns < 60 * SECOND && !seen.slower)
		feed(c, &s, 1, &seen);
	size = seen.slower ? (double)seen.view.after_ns / (double)seen.view.before_ns - 1 : 0;
	while (s.now_ns - from_ns < 600 * SECOND)
		sim_step(&s, &fs);
	truth = (double)(s.now_ns - from_ns) / (double)(s.number - from) / truth - 1;
	change_free(c);
	if (seen.slower && fabs(size - truth) <= 0.03 &&
	    (!p->every || seen.view.period == p->every))
		return true;
	print_error(
		"step %llu ns, job %llu, %g s before: reported %+.1f %%, true %+.1f %%, period %u\n",
		(unsigned long long)p->step_ns, (unsigned long long)job, b->ago_s, 100 * size,
		100 * truth, seen.view.period);
	return false;
}

/* Losses of which the median step shows nothing, or too little. */
static void test_sums(void **state)
{
	static const struct shape shapes[] = {
		{.step_ns = 10800000, .every = 4, .by = 2.8, .noise = 0.01},
		{.step_ns = 10000000, .every = 2, .by = 0.18, .noise = 0.02},
		{.step_ns = 10000000, .every = 4, .by = 0.4, .noise = 0.03},
		{.step_ns = 10000000, .every = 4, .by = 0.32, .noise = 0.02},
		{.step_ns = 10000000, .every_ns = 1e9, .by = 8, .noise = 0.03},
		{.step_ns = 10000000, .every = 10, .by = 1, .noise = 0.03},
		{.step_ns = 100000000, .every = 4, .by = 3, .noise = 0.02},
		{.step_ns = 100000000, .every = 16, .by = 1.6, .noise = 0.02},
		{.step_ns = SECOND, .every = 4, .by = 0.4, .noise = 0.01},
		{.step_ns = 500000, .every = 32, .by = 6.4, .noise = 0.05},
		{.step_ns = 10000000, .every_ns = 1e9, .by = 10, .noise = 0.03},
		{.step_ns = 10000000, .every_ns = 5e9, .by = 50, .noise = 0.03},
		{.step_ns = 300000, .every_ns = 3e9, .by = 1000, .noise = 0.05},
		{.step_ns = 100000000, .every_ns = 3e9, .by = 3, .noise = 0.03},
		{.step_ns = 10000000, .burst_ns = 1e9, .burst_of_ns = 3e9, .by = 1, .noise = 0.03},
		{.step_ns = 10000000, .burst_ns = 6e7, .burst_of_ns = 2e8, .by = 3, .noise = 0.05},
		{.step_ns = 200000, .burst_ns = 4e6, .burst_of_ns = 8e6, .by = 1.08, .noise = 0.05},
		{.step_ns = 200000000,
		 .burst_ns = 1e9,
		 .burst_of_ns = 2e9,
		 .by = 0.5,
		 .noise = 0.03},
		/* Another program on the same CPU, where the steps vary for seconds at a time. */
		{.step_ns = 8000000,
		 .burst_ns = 2e7,
		 .burst_of_ns = 6e7,
		 .by = 0.8,
		 .noise = 0.03,
		 .correlation = 0.95},
	};
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (uint64_t job = 1; job <= 5; job++)
			bad += !loss_reported(&shapes[i], job, &(struct before){0});
	assert_int_equal(bad, 0);
}

/* The hour before had a short slowdown. */
static void test_loss_after_short(void **state)
{
	static const struct before befores[] = {
		{10, 20}, {10, 70}, {100, 200}, {30, 1000}, {10, 3300}};
	static const struct shape shapes[] = {
		{.step_ns = 300000, .by = 0.08, .noise = 0.03},
		{.step_ns = 10000000, .by = 0.08, .noise = 0.03},
		{.step_ns = 10000000, .by = 0.5, .noise = 0.03},
		{.step_ns = 100000000, .by = 0.08, .noise = 0.03},
		{.step_ns = 10800000, .every = 4, .by = 2.8, .noise = 0.01},
		{.step_ns = 10000000, .every = 4, .by = 0.32, .noise = 0.02},
		{.step_ns = 100000000, .every = 16, .by = 1.6, .noise = 0.02},
		{.step_ns = 10000000, .every_ns = 1e9, .by = 8, .noise = 0.03},
		{.step_ns = 100000000, .every_ns = 3e9, .by = 3, .noise = 0.03},
		{.step_ns = 10000000, .burst_ns = 1e9, .burst_of_ns = 3e9, .by = 1, .noise = 0.03},
		{.step_ns = 200000, .burst_ns = 4e6, .burst_of_ns = 8e6, .by = 1.08, .noise = 0.05},
	};
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (size_t k = 0; k < SIMULATIONS(sizeof(befores) / sizeof(*befores)); k++)
			for (uint64_t job = 1;
			     job <= SIMULATIONS(3) && (job == 1 || befores[k].ago_s < 500); job++)
				bad += !loss_reported(&shapes[i], job, &befores[k]);
	assert_int_equal(bad, 0);
}

/* A large loss of uneven steps is reported soon, and with its size still when it is over. */
static void test_large(void **state)
{
	static const struct shape shapes[] = {
		/* a CPU quota; a file server */
		{.step_ns = 20000000, .every = 3, .by = 3, .noise = 0.02},
		{.step_ns = 20000000,
		 .burst_ns = 2e9,
		 .burst_of_ns = 2.3e9,
		 .by = 1.5,
		 .noise = 0.1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct shape *p = &shapes[i];
		struct sim s = {.seed = i + 1, .step_ns = p->step_ns, .noise = p->noise};
		struct change *c = change_new();
		struct seen seen = {0};
		uint64_t from_ns, from;
		double truth;

		sim_start(&s);
		feed_ns(c, &s, 14e9, &seen);
		s.every = p->every;
		s.burst_ns = p->burst_ns;
		s.burst_of_ns = p->burst_of_ns;
		s.slow_by = p->by;
		s.slow_from = s.number + 1;
		from_ns = s.now_ns;
		from = s.number;
		feed_ns(c, &s, 20e9, &seen);
		assert_int_equal(seen.slower, 1);
		feed_ns(c, &s, 10e9, &seen);
		truth = (double)(s.now_ns - from_ns) / (double)(s.number - from) - 20e6;
		s.slow_from = s.every = 0;
		s.burst_ns = s.burst_of_ns = 0;
		feed_ns(c, &s, 20e9, &seen);
		assert_int_equal(seen.recovered, 1);
		assert_true(fabs((double)(seen.view.after_ns - seen.view.before_ns) - truth) <
			    0.15 * truth);
		change_free(c);
	}
}

/* Others run on the machine for some seconds again and again: at most one false report an hour. */
static void test_noisy(void **state)
{
	static const struct {
		uint64_t step_ns;
		double busy_ns, quiet_ns, by, noise, correlation;
	} machines[] = {
		{200000, 2e9, 3e9, 0.5, 0.1, 0},     {200000, 3e8, 5e8, 1, 0.2, 0.9},
		{10000000, 5e9, 20e9, 1, 0.1, 0.5},  {10000000, 15e9, 60e9, 0.4, 0.1, 0.9},
		{1000000, 8e9, 100e9, 2, 0.1, 0.99}, {100000000, 10e9, 30e9, 0.3, 0.1, 0},
	};

	(void)state;
	for (size_t i = 0; i < SIMULATIONS(sizeof(machines) / sizeof(*machines)); i++) {
		struct sim s = {.seed = i + 1,
				.step_ns = machines[i].step_ns,
				.noise = machines[i].noise,
				.correlation = machines[i].correlation,
				.busy_ns = machines[i].busy_ns,
				.quiet_ns = machines[i].quiet_ns,
				.busy_by = machines[i].by};
		struct change *c = change_new();
		struct seen seen = {0};
		sim_start(&s);
		while (s.now_ns < 3600 * SECOND)
			feed(c, &s, 1000, &seen);
		assert_true(seen.slower <= 1);
		while (s.now_ns < (s.step_ns < 1000000 ? 2 : 5) * 3600 * SECOND)
			feed(c, &s, 1000, &seen);
		assert_true(seen.slower <= 2);
		change_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_slower),		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_burst),		cmocka_unit_test(test_faster),
		cmocka_unit_test(test_no_samples),	cmocka_unit_test(test_incomparable),
		cmocka_unit_test(test_archive),		cmocka_unit_test(test_short),
		cmocka_unit_test(test_other_optimizer), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_noisy),		cmocka_unit_test(test_loss_after_short),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
