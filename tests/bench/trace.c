/* SPDX-License-Identifier: Apache-2.0 */
/* trace - what a trace costs: STEPS steps of eight ranks, all of them drawn, with five phases and
 * two waits.
 *
 * trace STEPS FILE   prints the CPU time and the time on the clock in ns, and the size of the
 * file */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "userspace/export/export.h"

#define RANKS 8u
#define S     1000000000ull

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

static struct step_piece piece(enum phase phase, uint64_t from_ns, uint64_t ns)
{
	return (struct step_piece){phase, from_ns, from_ns + ns};
}

static void step(struct export_set *set, uint64_t number, uint32_t rank)
{
	uint64_t start_ns = 1000 * S + number * S / 10 + rank;
	struct fact_step fs = {
		.step = {.number = number,
			 .start_ns = start_ns,
			 .end_ns = start_ns + S / 10 - rank,
			 .micro_batches = 1,
			 .updates = 1,
			 .tier = TIER_A},
		.run_step = number,
		.phases_known = 0x7f,
		.phase_ns = {1000001, 20000002, 30000003, 4000004, 500005, 6000006, 7000007},
		.piece = {piece(PHASE_DATA, start_ns, 1000001),
			  piece(PHASE_ZERO_GRAD, start_ns + 1000001, 500005),
			  piece(PHASE_FORWARD, start_ns + 1500006, 20000002),
			  piece(PHASE_BACKWARD, start_ns + 21500008, 37000010),
			  piece(PHASE_UPDATE, start_ns + 58500018, 4000004)},
		.npieces = 5,
		.blocked = {piece(PHASE_COLLECTIVE, start_ns + 50000000, 7000007),
			    piece(PHASE_SYNC, start_ns + 63000000, 6000006)},
		.nblocked = 2,
		.device_known = true,
		.host_ns = 40000000,
	};
	struct fact f = {.type = FACT_STEP,
			 .number = number * RANKS + rank,
			 .mono_ns = fs.step.end_ns,
			 .real_ns = (int64_t)(1795262400 * S + fs.step.end_ns),
			 .pid = 4000000 + rank,
			 .start_ns = 1,
			 .rank = (int)rank,
			 .world_size = RANKS,
			 .job = "llama",
			 .step = &fs};

	export_set_fact(set, &f);
}

int main(int argc, char **argv)
{
	uint64_t steps = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, cpu_ns, wall_ns;
	const struct export_options opt = {0};
	struct export_set *set;
	struct stat st;
	char spec[4200];

	if (!steps)
		return 2;
	snprintf(spec, sizeof(spec), "trace:%s,size=64G", argv[2]);
	cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	wall_ns = now_ns(CLOCK_MONOTONIC);
	if (export_set_new(&set, &opt) || export_set_add(set, spec))
		return 1;
	for (uint64_t i = 0; i < steps; i++)
		step(set, 1 + i / RANKS, (uint32_t)(i % RANKS));
	if (export_set_close(set) || stat(argv[2], &st))
		return 1;
	printf("%llu %llu %lld\n", (unsigned long long)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns),
	       (unsigned long long)(now_ns(CLOCK_MONOTONIC) - wall_ns), (long long)st.st_size);
	return 0;
}
