/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S    1000000000ll
#define BOOT_ID_LEN 36 /* a UUID; the file ends in a newline */

static int64_t clock_read_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return (uint64_t)clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_thread_ns(void)
{
	return (uint64_t)clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_boot_ns(void)
{
	return (uint64_t)clock_read_ns(CLOCK_BOOTTIME);
}

int64_t clock_real_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

void clock_boot_id(char out[CLOCK_BOOT_ID_MAX])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	memset(out, 0, CLOCK_BOOT_ID_MAX);
	if (fd >= 0 && read(fd, out, BOOT_ID_LEN) != BOOT_ID_LEN)
		memset(out, 0, CLOCK_BOOT_ID_MAX);
	if (fd >= 0)
		close(fd);
}

uint64_t clock_suspended_ns(void)
{
	uint64_t best = UINT64_MAX, first, boot, last, width;
	int64_t suspended = 0;

	/* Two clocks cannot be read at once. Of three tries the tightest bracket wins: a preemption
	 * between the reads would look like a suspend. */
	for (int i = 0; i < 3; i++) {
		first = clock_mono_ns();
		boot = clock_boot_ns();
		last = clock_mono_ns();
		width = last - first;
		if (width < best) {
			best = width;
			suspended = (int64_t)(boot - (first + width / 2));
		}
	}
	/* The rest of the error is under a microsecond; a suspend is not. */
	return suspended < 1000 ? 0 : (uint64_t)suspended;
}

char *clock_rfc3339(char out[CLOCK_TEXT_MAX], int64_t real_ns)
{
	time_t s = (time_t)(real_ns / NS_PER_S);
	int64_t ns = real_ns % NS_PER_S;
	struct tm tm;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	/* All of int64_t nanoseconds lies in years 1677 to 2262: four digits always suffice. */
	gmtime_r(&s, &tm);
	snprintf(out, CLOCK_TEXT_MAX, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", (tm.tm_year + 1900u) % 10000,
		 (tm.tm_mon + 1u) % 100, tm.tm_mday % 100u, tm.tm_hour % 100u, tm.tm_min % 100u,
		 tm.tm_sec % 100u, (unsigned)ns);
	return out;
}

static char *clock_long_duration(char *out, int out_len, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
	uint64_t m = (s + 30) / 60;

	if (s < 3600)
		snprintf(out, (size_t)out_len, "%u m %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		snprintf(out, (size_t)out_len, "%u h %02u m", (unsigned)(m / 60), (unsigned)(m % 60));
	return out;
}

char *clock_duration(char *out, int out_len, uint64_t ns)
{
	static const char *const units[] = {"ns", "\302\265s", "ms", "s"};
	uint64_t step = 1, q;
	unsigned digits, tens;

	if (out_len <= 0)
		return out;
	if (ns >= 59950000000ull) /* what would be rounded to 60.0 s */
		return clock_long_duration(out, out_len, ns);
	/* step: what the last of three digits is worth; 1 ns, then 10 ns (9.99 us), 100 ns (99.9 us)... */
	for (digits = 0;; digits++, step *= 10) {
		q = (ns + step / 2) / step;
		if (q < 1000)
			break;
	}
	tens = digits % 3 == 0 ? 1 : digits % 3 == 1 ? 100 : 10;
	if (tens == 1)
		snprintf(out, (size_t)out_len, "%u %s", (unsigned)q, units[digits / 3]);
	else
		snprintf(out, (size_t)out_len, "%u.%0*u %s", (unsigned)q / tens, tens == 100 ? 2 : 1,
			 (unsigned)q % tens, units[digits / 3 + 1]);
	return out;
}
