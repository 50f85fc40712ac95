/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.h - parses and prints times, as microseconds since 1970-01-01 UTC. Pure. */
#ifndef BASE_EPOCH_H
#define BASE_EPOCH_H

#include <stddef.h>
#include <stdint.h>

/* Parses a text that is one time: seconds since 1970 ("1735725599.25") or RFC 3339
 * ("2025-01-01T10:00:00.5Z", "... 12:00:00+02:00"), years 1970 to 9999, rounded to a microsecond.
 * Returns 0 or -EINVAL. */
int epoch_parse(const char *text, size_t len, int64_t *ret_us);

/* Writes "2025-01-01 10:00:00" in UTC, with `decimals` digits of a second (0 to 6; further digits
 * are cut off). out: EPOCH_TEXT_MAX bytes. Returns out. */
#define EPOCH_TEXT_MAX 40
char *epoch_text(char *out, int64_t us, int decimals);

#endif
