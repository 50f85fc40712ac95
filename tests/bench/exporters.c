/* SPDX-License-Identifier: Apache-2.0 */
/* exporters - what ways out cost: those that are asked for are given snapshots of JOBS jobs of
 * RANKS ranks each.
 *
 * exporters JOBS RANKS LISTEN ENDPOINT SPEC...   prints "ready", opens them at the first line it
 * reads, gives them a snapshot for each line, and prints "CPU_NS POINTS LONGEST_NS": of this
 * process so far, those that were sent, and what giving them one fact took at most STEPS=N
 * (environment) so many steps of each rank come with each snapshot, as those of a second INTERVAL=S
 * of Cloud Monitoring (5) HOOK=EVENT=ACTION  a hook too, and a disruption with each snapshot */
#include <stdlib.h>
#include <time.h>

#include "tests/bench/jobs.h"
#include "userspace/base/clock.h"
#include "userspace/export/export.h"

#define KEPT 8 /* more than an exporter holds at once */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

static uint64_t env_number(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : usual;
}

/* ns that giving it took. */
static uint64_t tell(struct export_set *set, struct fact *f)
{
	static uint64_t told;
	uint64_t from_ns = clock_mono_ns();

	f->number = ++told;
	export_set_fact(set, f);
	return clock_mono_ns() - from_ns;
}

static struct step_piece piece(enum phase phase, uint64_t from_ns, uint64_t ns)
{
	return (struct step_piece){phase, from_ns, from_ns + ns};
}

/* Where the phases of a step lie, and two waits. */
static void place(struct fact_step *fs)
{
	uint64_t at_ns = fs->step.start_ns;

	for (int p = 0; p <= PHASE_ZERO_GRAD; p++) {
		fs->piece[fs->npieces++] = piece(p, at_ns, fs->phase_ns[p]);
		at_ns += fs->phase_ns[p];
	}
	fs->blocked[fs->nblocked++] = piece(PHASE_COLLECTIVE, fs->step.start_ns + 30000000,
					    7000007);
	fs->blocked[fs->nblocked++] = piece(PHASE_SYNC, at_ns, 6000006);
}

/* The steps of a second, those of all ranks in turn. */
static uint64_t tell_steps(struct export_set *set, const struct snapshot *s, uint64_t steps)
{
	static uint64_t number = 2000;
	uint64_t longest_ns = 0, ns;

	for (uint64_t i = 0; i < steps; i++) {
		number++;
		for (uint32_t r = 0; r < s->nranks; r++) {
			uint64_t end_ns = s->mono_ns - S + (i + 1) * S / steps;
			struct fact_step fs = {
				.step = {.number = number,
					 .start_ns = end_ns - S / steps + r,
					 .end_ns = end_ns,
					 .micro_batches = 1,
					 .updates = 1,
					 .tier = TIER_A},
				.run_step = number,
				.phases_known = 0x7f,
				.phase_ns = {1000001, 20000002, 30000003, 4000004, 500005, 6000006,
					     7000007},
				.device_known = true,
				.host_ns = 40000000,
			};
			struct fact f = {.type = FACT_STEP,
					 .mono_ns = end_ns,
					 .real_ns = s->real_ns - (int64_t)(s->mono_ns - end_ns),
					 .pid = s->ranks[r].pid,
					 .start_ns = s->ranks[r].start_mono_ns,
					 .run = 1,
					 .rank = s->ranks[r].rank,
					 .world_size = s->ranks[r].world_size,
					 .job = s->ranks[r].job,
					 .types = &s->types,
					 .step = &fs};

			place(&fs);
			ns = tell(set, &f);
			longest_ns = ns > longest_ns ? ns : longest_ns;
		}
	}
	return longest_ns;
}

static void send_disruption(struct export_set *set, const struct snapshot *s)
{
	struct job_disruption disruption = {
		.number = 1, .why = {.cause = CAUSE_killed, .signal = 9, .pid = s->ranks[0].pid}};
	struct fact f = {.type = FACT_DISRUPTION,
			 .mono_ns = s->mono_ns,
			 .real_ns = s->real_ns,
			 .pid = s->ranks[0].pid,
			 .run = 1,
			 .rank = 0,
			 .world_size = -1,
			 .job = s->ranks[0].job,
			 .types = &s->types,
			 .disruption = &disruption};

	tell(set, &f);
}

static int set_open(struct export_set **ret, char **argv)
{
	static const char *const accelerator = "NVIDIA-H100";
	static char *hook;
	struct export_options o = {.listen = argv[3],
				   .project = "bench",
				   .location = "us-central1-a",
				   .cluster = "bench",
				   .accelerator = accelerator,
				   .endpoint = argv[4],
				   .workload_metrics = true,
				   .interval_ns = (int64_t)(env_number("INTERVAL", 5) * S),
				   .hooks = &hook};
	int err;

	hook = getenv("HOOK");
	o.nhooks = hook != NULL;
	err = export_set_new(ret, &o);
	if (!err)
		err = export_set_add_hooks(*ret);
	for (int i = 5; argv[i] && !err; i++)
		err = export_set_add(*ret, argv[i]);
	return err;
}

int main(int argc, char **argv)
{
	static struct snapshot kept[KEPT];
	uint32_t n = argc > 5 ? (uint32_t)atoi(argv[1]) : 0,
		 ranks = argc > 5 ? (uint32_t)atoi(argv[2]) : 0;
	struct export_set *set = NULL;
	uint64_t count = 0, steps = env_number("STEPS", 0), longest_ns;
	char line[16];

	if (!n || !ranks || n * ranks > FIXTURE_RANKS)
		return 2;
	jobs_make(n, ranks);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		struct snapshot *s = &kept[count++ % KEPT];

		if (!set && set_open(&set, argv))
			return 1;
		*s = fx.s;
		s->number = count;
		s->real_ns = clock_real_ns();
		s->mono_ns += count * S;
		if (getenv("HOOK"))
			send_disruption(set, s);
		longest_ns = tell_steps(set, s, steps);
		export_set_snapshot(set, s);
		export_set_view(set, s);
		printf("%llu %llu %llu\n", (unsigned long long)cpu_ns(),
		       (unsigned long long)s->exports[0].sent, (unsigned long long)longest_ns);
	}
	return set ? export_set_close(set) != 0 : 0;
}
