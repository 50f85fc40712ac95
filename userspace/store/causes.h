/* SPDX-License-Identifier: Apache-2.0 */
/* causes.h - the causes of a slowdown as text in a column of a store. Each line is "NAME NS" or
 * "NAME NS LINE": the name of the cause (time_cause_name), how much of the time lost in each step
 * it explains in ns, and the line of Python that belongs to it. "": the causes were not searched.
 * Pure. */
#ifndef STORE_CAUSES_H
#define STORE_CAUSES_H

#include <stddef.h>

#include "userspace/model/time/time_cause.h"

/* bytes of the longest text, terminator included: a line for each cause, with its name, a number of
 * at most 20 digits, and a line of Python */
#define CAUSES_TEXT_MAX (TIME_CAUSE_COUNT * (48 + LINES_TEXT_MAX) + 1)

/* Writes the causes to out and returns out. l: NULL, or lost_ns is 0: not searched. */
const char *causes_write(char out[CAUSES_TEXT_MAX], const struct time_causes *l);
/* Reads such a text of len bytes, which is not trusted. Causes that this version does not know
 * count as unknown. A damaged text gives no causes: ret->lost_ns is 0. */
void causes_read(struct time_causes *ret, const char *text, size_t len);

#endif
