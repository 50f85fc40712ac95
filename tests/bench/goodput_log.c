/* SPDX-License-Identifier: Apache-2.0 */
/* A log as the goodput library writes it, on standard output: goodput_log RECORDS [STEPS]
 *
 * One record a step, a second or so apart. With STEPS the job starts again from step 0 after so
 * many of them, for as long as there are records to write. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	   (1 << 20)
#define RECORD_MAX 128

static char chunk[CHUNK + RECORD_MAX];
static size_t used;

/* printf would be slower than what reads this. */
static void put_text(const char *text)
{
	size_t len = strlen(text);

	memcpy(chunk + used, text, len);
	used += len;
}

static void put_number(uint64_t v, int digits)
{
	char text[20];
	int at = sizeof(text);

	for (; v || digits > 0; v /= 10, digits--)
		text[--at] = (char)('0' + v % 10);
	memcpy(chunk + used, text + at, sizeof(text) - (size_t)at);
	used += sizeof(text) - (size_t)at;
}

static void put_time(const char *key, uint64_t us)
{
	put_text(key);
	put_number(us / 1000000, 1);
	put_text(".");
	put_number(us % 1000000, 6);
	put_text("}\n");
	if (used < CHUNK)
		return;
	if (fwrite(chunk, 1, used, stdout) != used)
		exit(1);
	used = 0;
}

int main(int argc, char **argv)
{
	uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	uint64_t us = 1735725600000000, step = 0, noise = 1;

	for (uint64_t i = 0; i < records; i++) {
		if (i == 0 || step == steps) {
			put_time("{\"job_name\":\"job\",\"job_start_time\":", us);
			us += 30000000;
			step = 0;
			continue;
		}
		put_text("{\"job_name\":\"job\",\"step_count\":");
		put_number(step, 1);
		put_time(",\"step_start_time\":", us);
		noise = noise * 6364136223846793005u + 1442695040888963407u;
		us += 1000000 + (noise >> 47) + (step ? 0 : 20000000);
		step++;
	}
	return fwrite(chunk, 1, used, stdout) != used || fflush(stdout);
}
