/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ll
#define DAY_S	 86400
/* length of the boot ID, a UUID; the kernel's file has a newline after it */
#define BOOT_ID_LEN 36

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

	/* Two clocks cannot be read at the same time. So this is done three times, and the pair
	 * that was read fastest is used: a preemption in between would look like a suspend. */
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
	/* Less than a microsecond is an error of measurement. */
	return suspended < 1000 ? 0 : (uint64_t)suspended;
}

/* Converts a day, counted from 1970-01-01, to a date of the proleptic Gregorian calendar. Years
 * begin in March here, so that the leap day is the last day of a year. An era is 400 years, after
 * which the calendar repeats. */
static void clock_date(int64_t day, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
	/* days since 0000-03-01 */
	uint64_t at = (uint64_t)(day + 719468);
	unsigned of_era = (unsigned)(at % 146097);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153; /* number of the month; 0 is March */

	*ret_day = of_year - (153 * month + 2) / 5 + 1;
	*ret_month = month < 10 ? month + 3 : month - 9;
	*ret_year = year + (unsigned)(at / 146097) * 400 + (month >= 10);
}

static char *clock_digits(char *to, unsigned value, int digits)
{
	for (int i = digits - 1; i >= 0; i--, value /= 10)
		to[i] = (char)('0' + value % 10);
	return to + digits;
}

/* Does not use printf() and the C library's time zones: each output line has a time, which would
 * take longer than the rest of the line. */
char *clock_rfc3339(char out[CLOCK_TEXT_MAX], int64_t real_ns)
{
	int64_t s = real_ns / NS_PER_S, ns = real_ns % NS_PER_S, day;
	unsigned year, month, mday, of_day;
	char *at = out;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	day = (s >= 0 ? s : s - (DAY_S - 1)) / DAY_S;
	of_day = (unsigned)(s - day * DAY_S);
	/* int64_t nanoseconds cover the years 1677 to 2262, so a year has four digits */
	clock_date(day, &year, &month, &mday);
	at = clock_digits(at, year, 4);
	*at++ = '-';
	at = clock_digits(at, month, 2);
	*at++ = '-';
	at = clock_digits(at, mday, 2);
	*at++ = 'T';
	at = clock_digits(at, of_day / 3600, 2);
	*at++ = ':';
	at = clock_digits(at, of_day / 60 % 60, 2);
	*at++ = ':';
	at = clock_digits(at, of_day % 60, 2);
	*at++ = '.';
	at = clock_digits(at, (unsigned)ns, 9);
	memcpy(at, "Z", 2);
	return out;
}

static char *clock_long_duration(char *out, int out_len, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);
	uint64_t m = (s + 30) / 60;

	if (s < 3600)
		snprintf(out, (size_t)out_len, "%u m %02u s", (unsigned)(s / 60),
			 (unsigned)(s % 60));
	else
		snprintf(out, (size_t)out_len, "%u h %02u m", (unsigned)(m / 60),
			 (unsigned)(m % 60));
	return out;
}

char *clock_duration(char *out, int out_len, uint64_t ns)
{
	static const char *const units[] = {"ns", "\302\265s", "ms", "s"};
	uint64_t step = 1, q;
	unsigned digits, tens;

	if (out_len <= 0)
		return out;
	if (ns >= 59950000000ull) /* such times would be rounded to "60.0 s" */
		return clock_long_duration(out, out_len, ns);
	/* Three digits are shown. step: value of the last one, which is 1 ns, then 10 ns (9.99 us),
	 * 100 ns (99.9 us)... */
	for (digits = 0;; digits++, step *= 10) {
		q = (ns + step / 2) / step;
		if (q < 1000)
			break;
	}
	tens = digits % 3 == 0 ? 1 : digits % 3 == 1 ? 100 : 10;
	if (tens == 1)
		snprintf(out, (size_t)out_len, "%u %s", (unsigned)q, units[digits / 3]);
	else
		snprintf(out, (size_t)out_len, "%u.%0*u %s", (unsigned)q / tens,
			 tens == 100 ? 2 : 1, (unsigned)q % tens, units[digits / 3 + 1]);
	return out;
}

static void clock_duration_digits(char *out, int out_len, uint64_t ns, int decimals)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "\302\265s"}, {1, "ns"}};
	int i = 0;

	while (i < 3 && ns < units[i].ns)
		i++;
	snprintf(out, (size_t)out_len, "%.*f %s", decimals, (double)ns / (double)units[i].ns,
		 units[i].unit);
}

void clock_durations(char *a, char *b, int out_len, uint64_t a_ns, uint64_t b_ns)
{
	clock_duration(a, out_len, a_ns);
	clock_duration(b, out_len, b_ns);
	for (int decimals = 1; a_ns != b_ns && decimals <= 9 && !strcmp(a, b); decimals++) {
		clock_duration_digits(a, out_len, a_ns, decimals);
		clock_duration_digits(b, out_len, b_ns, decimals);
	}
}
