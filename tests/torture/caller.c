/* SPDX-License-Identifier: Apache-2.0 */
/* caller RATE COUNTED NAMES THREADS: a training loop without torch that knows exactly what it
 * called.
 *
 * Says "ready"; from a line of standard input on it makes RATE recorded calls a second in each
 * thread, and beside them COUNTED thousand counted ones and NAMES thousand ranges of a name that is
 * bounded; on another line, or its end, it stops and prints one line:
 *
 *   steps N records N counted N ranges N sum N
 *
 * With NAMES every other quarter of a second has nothing but such ranges, as an inner loop would.
 * ranges are those that may have been counted only; sum is what a probed function returned, all in
 * all, and shows that the probes left the program alone. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/sites.h"

#define BURST_NS     1000000ull /* a paced stream is sent in bursts of a millisecond */
#define BURSTS_HZ    (1000000000ull / BURST_NS)
#define STEP_RECORDS 7	 /* of the markers of one training step */
#define LULL_BURSTS  256 /* of every 2 * LULL_BURSTS */
#define THREADS_MAX  64

struct std_string { /* what a const std::string & points to: the first word is the pointer to the
		       text */
	const char *text;
	size_t len;
};

#define STRING(s)                                                                                  \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}
static const struct std_string update = STRING("Optimizer.step#AdamW.step");
static const struct std_string zero = STRING("Optimizer.zero_grad#AdamW.zero_grad");
static const struct std_string fetch = STRING(
	"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
static const struct std_string inner = STRING("inner");

static unsigned long burst, counted_each, names_each;
static atomic_bool stop;

struct worker {
	pthread_t thread;
	uint64_t bursts, steps, records, counted, ranges, sum;
};

static void range(const struct std_string *name)
{
	gpbench_push_begin(0, name, 0, 0);
	gpbench_push_end(0, NULL, 0, 0);
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec ts = {(time_t)(at_ns / 1000000000ull), (long)(at_ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void step_make(struct worker *w)
{
	range(&fetch);
	gpbench_push_hit(0, NULL, 0, 0);
	range(&update);
	range(&zero);
	for (unsigned long i = STEP_RECORDS; i < burst; i++)
		gpbench_push_stream((long)i, NULL, 0, 0);
	for (unsigned long i = 0; i < counted_each; i++)
		w->sum += (uint64_t)gpbench_nop5_count((long)i, NULL, 0, 0);
	w->steps++;
	w->records += burst;
	w->counted += counted_each;
}

static void burst_make(struct worker *w)
{
	if (!names_each || w->bursts++ / LULL_BURSTS % 2 == 0)
		step_make(w);
	for (unsigned long i = 0; i < names_each; i++)
		range(&inner);
	w->ranges += 2 * names_each;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec ts;
	uint64_t next_ns;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	next_ns = (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
	while (!stop) {
		burst_make(w);
		next_ns += BURST_NS;
		sleep_until(next_ns);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS_MAX] = {0}, all = {0};
	unsigned long threads = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	char line[64];

	burst = threads ? strtoul(argv[1], NULL, 10) / BURSTS_HZ : 0;
	if (burst < STEP_RECORDS || threads > THREADS_MAX) {
		fprintf(stderr, "usage: caller RATE COUNTED NAMES THREADS; RATE at least %llu\n",
			STEP_RECORDS * BURSTS_HZ);
		return 2;
	}
	counted_each = strtoul(argv[2], NULL, 10);
	names_each = strtoul(argv[3], NULL, 10);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	if (!fgets(line, sizeof(line), stdin))
		fputs("caller: its reader is gone\n", stderr);
	stop = true;
	for (unsigned long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		all.steps += workers[i].steps;
		all.records += workers[i].records;
		all.counted += workers[i].counted;
		all.ranges += workers[i].ranges;
		all.sum += workers[i].sum;
	}
	printf("steps %llu records %llu counted %llu ranges %llu sum %llu\n",
	       (unsigned long long)all.steps, (unsigned long long)all.records,
	       (unsigned long long)all.counted, (unsigned long long)all.ranges,
	       (unsigned long long)all.sum);
	return 0;
}
