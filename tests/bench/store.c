/* SPDX-License-Identifier: Apache-2.0 */
/* store - what keeping the history costs.
 *
 * store live RANKS SECONDS FILE   ten steps a second each, in real time; prints "CPU_NS WALL_NS",
 * of which CPU_NS is the process's, less what making the facts took store day RANKS HOURS FILE as
 * fast as can be; then the file has its size */
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/store_feed.h"

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * S +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void until(uint64_t mono_ns)
{
	struct timespec t = {.tv_sec = (time_t)(mono_ns / S), .tv_nsec = (long)(mono_ns % S)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* The same facts at the same pace, with a store or without. */
static int live(struct feed *f, uint32_t ranks, int seconds, const char *path, uint64_t *ret_cpu_ns)
{
	struct store_writer_options o = {.path = path};
	uint64_t start_ns, cpu;
	int err = 0;

	feed_init(f, "bench", ranks, 1200 * S);
	f->jitter_ns = 6 * MS;
	if (path)
		err = store_writer_open(&f->writer, &o);
	if (err)
		return err;
	feed_open(f, f->writer);
	start_ns = clock_mono_ns();
	cpu = cpu_ns();
	for (int i = 1; i <= seconds; i++) {
		feed_go(f, S);
		until(start_ns + (uint64_t)i * S);
	}
	*ret_cpu_ns = cpu_ns() - cpu;
	return store_writer_close(f->writer);
}

int main(int argc, char **argv)
{
	static struct feed f;
	struct store_writer_options o;
	uint64_t with = 0, without = 0;
	int err, ranks = argc > 4 ? atoi(argv[2]) : 0, n = argc > 4 ? atoi(argv[3]) : 0;

	if (ranks < 1 || ranks > FEED_RANKS || n < 1)
		return 2;
	o = (struct store_writer_options){.path = argv[4]};
	if (!strcmp(argv[1], "live")) {
		err = live(&f, (uint32_t)ranks, n, argv[4], &with);
		err = err ? err : live(&f, (uint32_t)ranks, n / 4 + 1, NULL, &without);
		without = without * (uint64_t)n / (uint64_t)(n / 4 + 1);
		printf("%llu %llu\n", (unsigned long long)(with > without ? with - without : 0),
		       (unsigned long long)((uint64_t)n * S));
		return err != 0;
	}
	feed_init(&f, "bench", (uint32_t)ranks, 1200 * S);
	f.jitter_ns = 6 * MS;
	f.wait = true;
	if (store_writer_open(&f.writer, &o))
		return 1;
	feed_open(&f, f.writer);
	for (int i = 0; i < n * 3600; i++)
		feed_go(&f, S);
	return store_writer_close(f.writer) != 0;
}
