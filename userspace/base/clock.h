/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - reads the clocks (no other file does), and formats times and durations. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);
uint64_t clock_boot_ns(void);
int64_t clock_real_ns(void);

/* Returns the CPU time (ns) that the calling thread has used. */
uint64_t clock_thread_ns(void);

/* Writes the kernel's ID of this boot; "" if it cannot be read. Values of CLOCK_MONOTONIC and
 * CLOCK_BOOTTIME are comparable within one boot only. */
#define CLOCK_BOOT_ID_MAX 40
void clock_boot_id(char out[CLOCK_BOOT_ID_MAX]);

/* Returns for how long (ns) the machine was suspended since boot: CLOCK_BOOTTIME -
 * CLOCK_MONOTONIC. */
uint64_t clock_suspended_ns(void);

/* Writes a time as RFC 3339 in UTC, with nine decimals: "2026-11-21T12:00:00.000000001Z" (31 bytes
 * with NUL). */
#define CLOCK_TEXT_MAX 32
char *clock_rfc3339(char out[CLOCK_TEXT_MAX], int64_t real_ns);

/* Writes a duration with three significant digits: "31.2 ms", "1.05 s", "850 ns", "2 h 03 m".
 * out_len >= 16. */
char *clock_duration(char *out, int out_len, uint64_t ns);
/* Writes two durations that are shown together, with enough digits to see that they differ. */
void clock_durations(char *a, char *b, int out_len, uint64_t a_ns, uint64_t b_ns);

#endif
