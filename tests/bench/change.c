/* SPDX-License-Identifier: Apache-2.0 */
/* change [DAYS [JOBS]] - how often model/change tells of a slowdown that is none (per 1000
 * job-days, DAYS of them simulated) and how late it tells of one (JOBS of each kind). Every figure
 * is reproducible: fixed seeds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/change_sim.h"
#include "userspace/base/order.h"

#define DAY_STEPS(step_ns) (86400000000000ull / (step_ns))
#define JOB_DAYS	   10 /* a job lives as long: it learns, and drifts by 5 % */

static uint64_t alarms_of(struct sim s, uint64_t days)
{
	struct change *c = change_new();
	struct fact_step fs;
	uint64_t alarms = 0;

	for (uint64_t i = 0; c && i < days * DAY_STEPS(s.step_ns); i++) {
		sim_step(&s, &fs);
		alarms += change_step(c, &fs) == CHANGE_SLOWER;
	}
	change_free(c);
	return alarms;
}

static void healthy(const char *name, uint64_t step_ns, uint64_t days, double noise,
		    double correlation)
{
	uint64_t alarms = 0, done = 0;

	for (uint64_t job = 1; done < days; job++, done += JOB_DAYS) {
		struct sim s = sim_healthy(job, step_ns);

		s.noise = noise;
		s.correlation = correlation;
		alarms += alarms_of(s, JOB_DAYS);
	}
	/* Poisson, 95 %: nothing seen in n days means less than 3 / n. */
	printf("%-34s %8llu job-days %6llu alarms, per 1000 job-days %.3g%s\n", name,
	       (unsigned long long)done, (unsigned long long)alarms,
	       1000.0 * (double)(alarms ? alarms : 3) / (double)done,
	       alarms ? "" : " at most (95 %)");
	fflush(stdout);
}

struct found {
	uint64_t delay[4096], off[4096]; /* steps to the notice; |told onset - onset| */
	uint32_t n, missed, early;
};

static void slow_job(struct found *f, struct sim s, double by)
{
	struct change *c = change_new();
	struct fact_step fs;
	struct change_view v;

	s.slow_from = 2000 + s.seed % 1000;
	s.slow_by = by;
	for (uint64_t i = 0; c && i < s.slow_from + 2000; i++) {
		sim_step(&s, &fs);
		if (change_step(c, &fs) != CHANGE_SLOWER)
			continue;
		change_view(c, &v);
		if (fs.step.number < s.slow_from) {
			f->early++;
			break;
		}
		f->delay[f->n] = fs.step.number - s.slow_from + 1;
		f->off[f->n++] = v.onset_step > s.slow_from ? v.onset_step - s.slow_from
							    : s.slow_from - v.onset_step;
		break;
	}
	change_view(c, &v);
	f->missed += !v.count;
	change_free(c);
}

static void slow(uint64_t step_ns, double by, double noise, uint32_t jobs)
{
	static struct found f;
	uint64_t a[4096];
	const unsigned q[] = {50, 90, 99, 100};

	memset(&f, 0, sizeof(f));
	for (uint32_t job = 1; job <= jobs && job <= 4096; job++) {
		struct sim s = sim_healthy(job + 1000000, step_ns);

		s.noise = noise;
		slow_job(&f, s, by);
	}
	printf("+%2.0f %%, step %8.2f s, noise %2.0f %%  found %5u of %u, early %u; delay p50/p90/p99/max",
	       100 * by, (double)step_ns / 1e9, 100 * noise, f.n, jobs, f.early);
	for (size_t i = 0; f.n && i < 4; i++) {
		memcpy(a, f.delay, f.n * sizeof(*a));
		printf(" %llu", (unsigned long long)order_quantile(a, f.n, q[i]));
	}
	printf(" steps; onset off by");
	for (size_t i = 0; f.n && i < 4; i++) {
		memcpy(a, f.off, f.n * sizeof(*a));
		printf(" %llu", (unsigned long long)order_quantile(a, f.n, q[i]));
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t days = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	uint32_t jobs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;

	healthy("1 s, noise 3 %", 1000000000, days, 0.03, 0);
	healthy("1 s, noise 3 %, correlated 0.9", 1000000000, days, 0.03, 0.9);
	healthy("1 s, noise 10 %", 1000000000, days, 0.10, 0);
	healthy("30 s, noise 3 %", 30000000000, days, 0.03, 0);
	healthy("10 ms, noise 3 %", 10000000, days / 100 ? days / 100 : 1, 0.03, 0);
	for (int i = 0; i < 3; i++) {
		static const uint64_t step_ns[] = {10000000, 1000000000, 30000000000};

		slow(step_ns[i], 0.10, 0.03, jobs);
	}
	slow(1000000000, 0.08, 0.03, jobs);
	slow(1000000000, 0.30, 0.03, jobs);
	slow(1000000000, 0.10, 0.005, jobs);
	slow(1000000000, 0.20, 0.10, jobs);
	return 0;
}
