/* SPDX-License-Identifier: Apache-2.0 */
/* python_dump PID [TIMES [PAUSE_US]]: the Python stacks of a process, as a line of JSON each time.
 * Afterwards, if it was more than once, a line with how long each took: {"median_ns":...}. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/python/python_stack.h"

#define THREADS_MAX 64
#define TIMES_MAX   100000

static void print_thread(struct buffer *b, const struct python_thread *t)
{
	json_open(b, NULL, '{');
	json_int(b, "tid", t->tid);
	json_bool(b, "gil", t->holds_gil);
	json_bool(b, "collects", t->collects);
	json_bool(b, "torn", t->torn);
	json_bool(b, "cut", t->cut);
	json_open(b, "frames", '[');
	for (uint32_t i = 0; i < t->nframes; i++) {
		json_open(b, NULL, '{');
		json_string(b, "name", t->frames[i].function);
		json_string(b, "file", t->frames[i].file);
		json_int(b, "line", t->frames[i].line);
		json_close(b, '}');
	}
	json_close(b, ']');
	json_close(b, '}');
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static struct python_thread threads[THREADS_MAX];
	static uint64_t taken[TIMES_MAX];
	long times = argc > 2 ? atol(argv[2]) : 1, pause = argc > 3 ? atol(argv[3]) : 0;
	char why[PYTHON_WHY_MAX];
	struct python_process *p;
	int n = argc > 1 && times > 0 && times <= TIMES_MAX
			? python_open((pid_t)atoi(argv[1]), &p, why)
			: -EINVAL;

	if (n) {
		fprintf(stderr, "python_dump: %s\n", n == -EINVAL ? "wrong arguments" : why);
		return 1;
	}
	for (long k = 0; k < times; k++) {
		struct buffer b = {0};
		uint64_t start = clock_mono_ns();

		n = python_dump(p, threads, THREADS_MAX, why);
		taken[k] = clock_mono_ns() - start;
		if (n < 0 && n != -EAGAIN) {
			fprintf(stderr, "python_dump: %s\n", why);
			return 1;
		}
		json_open(&b, NULL, '{');
		json_uint(&b, "version", python_version(p) >> 16 & 0xff);
		json_open(&b, "threads", '[');
		for (int i = 0; i < n; i++)
			print_thread(&b, &threads[i]);
		json_close(&b, ']');
		json_close(&b, '}');
		puts(b.data ? b.data : "");
		buffer_free(&b);
		if (pause)
			usleep((useconds_t)pause);
	}
	if (times > 1) {
		qsort(taken, (size_t)times, sizeof(*taken), compare_times);
		printf("{\"median_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 "}\n", taken[times / 2],
		       taken[times * 99 / 100]);
	}
	python_close(p);
	return 0;
}
