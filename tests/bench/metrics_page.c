/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_page - what a page of Prometheus costs: of JOBS jobs of RANKS ranks each, which have all
 * that ranks of a training have.
 *
 * metrics_page JOBS RANKS PAGES   prints for each format its bytes, then the CPU time of each page
 * in ns */
#include <stdlib.h>
#include <time.h>

#include "tests/bench/jobs.h"
#include "userspace/export/prometheus/prometheus_text.h"

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

static void measure(enum prometheus_format format, int pages)
{
	struct buffer b = {0};

	for (int i = -10; i < pages; i++) {
		uint64_t start_ns = thread_ns();

		buffer_free(&b); /* each page is a new one */
		prometheus_text(&b, &fx.s, format);
		if (b.failed)
			exit(1);
		if (!i)
			printf("%zu", b.len);
		if (i >= 0)
			printf(" %llu", (unsigned long long)(thread_ns() - start_ns));
	}
	printf("\n");
	if (getenv("METRICS_PAGE"))
		fputs(b.data, stderr);
	buffer_free(&b);
}

int main(int argc, char **argv)
{
	uint32_t n = argc == 4 ? (uint32_t)atoi(argv[1]) : 0,
		 ranks = argc == 4 ? (uint32_t)atoi(argv[2]) : 0;

	if (!n || !ranks || n * ranks > FIXTURE_RANKS)
		return 2;
	jobs_make(n, ranks);
	for (uint32_t f = 0; f < PROMETHEUS_FORMATS; f++)
		measure((enum prometheus_format)f, atoi(argv[3]));
	return 0;
}
