/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - reads clocks and maps CLOCK_MONOTONIC to wall time; no other file reads clocks. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_mono_ns(void);
uint64_t clock_boot_ns(void);
int64_t clock_real_ns(void);

/* Returns the CPU time of the calling thread, which does not depend on other programs. */
uint64_t clock_thread_ns(void);

/* Writes the ID of the boot that values of CLOCK_MONOTONIC and CLOCK_BOOTTIME belong to, as the
 * kernel gives it; "" if it cannot be read. */
#define CLOCK_BOOT_ID_MAX 40
void clock_boot_id(char out[CLOCK_BOOT_ID_MAX]);

/* Returns the time suspended since boot: CLOCK_BOOTTIME - CLOCK_MONOTONIC. */
uint64_t clock_suspended_ns(void);

/* Writes RFC 3339, UTC, nine decimals: "2026-11-21T12:00:00.000000001Z" (31 bytes with NUL). */
#define CLOCK_TEXT_MAX 32
char *clock_rfc3339(char out[CLOCK_TEXT_MAX], int64_t real_ns);

/* Writes a duration with three significant digits: "31.2 ms", "1.05 s", "850 ns", "2 h 03 m".
 * out_len >= 16. */
char *clock_duration(char *out, int out_len, uint64_t ns);
/* Writes two durations that are shown together, with as many digits as are needed to distinguish
 * them. */
void clock_durations(char *a, char *b, int out_len, uint64_t a_ns, uint64_t b_ns);

#endif
