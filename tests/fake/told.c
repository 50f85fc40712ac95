/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/told.h"

#define STEPS_MAX 100000

static uint64_t ends[STEPS_MAX + 1]; /* 0: when the first began */
static long steps;

uint64_t told_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void told_wait(const char *word)
{
	int c;

	puts(word);
	fflush(stdout);
	do {
		c = getchar();
		if (c == EOF)
			exit(3);
	} while (c != '\n');
}

void told_call(const char *id, long times, int64_t ret, const struct told_args *args)
{
	printf("call %s %ld %" PRId64, id, times, ret);
	for (int i = 0; i < TOLD_ARGS; i++)
		printf(" %" PRIu64, args->at[i]);
	putchar('\n');
}

void told_count(const char *id, long times)
{
	printf("count %s %ld\n", id, times);
}

void told_step_begin(void)
{
	ends[0] = told_now();
}

void told_step(void)
{
	if (steps < STEPS_MAX)
		ends[++steps] = told_now();
}

int told_write(const char *path, const char *kind)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	fprintf(f,
		"{\"type\": \"meta\", \"kind\": \"%s\", \"pid\": %d, \"steps\": %ld, \"updates\": %ld}\n",
		kind, getpid(), steps, steps);
	for (long i = 1; i <= steps; i++)
		fprintf(f,
			"{\"type\": \"step\", \"n\": %ld, \"loop\": 0, \"start\": %" PRIu64
			", \"end\": %" PRIu64
			", \"micro\": 0, \"updates\": 1, \"skipped\": false}\n",
			i, ends[i - 1], ends[i]);
	return fclose(f);
}
