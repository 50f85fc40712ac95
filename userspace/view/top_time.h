/* SPDX-License-Identifier: Apache-2.0 */
/* top_time.h - reads values from the JSON of /debug/state, for top_state.c. A value of an
 * unexpected type is treated as missing. Pure. */
#ifndef VIEW_TOP_TIME_H
#define VIEW_TOP_TIME_H

#include <cjson/cJSON.h>

#include "userspace/view/top_state.h"

/* Returns the member `name` of o; NULL: o is not an object, or lacks the member. */
const cJSON *top_get(const cJSON *o, const char *name);
/* Returns the member `name` of o; NULL if it is not an array. */
const cJSON *top_list(const cJSON *o, const char *name);
/* Return v, or the member `name`, as a number; 0 if it is negative or not a number. */
uint64_t top_number(const cJSON *v);
uint64_t top_uint(const cJSON *o, const char *name);
/* Returns the member `name` as a number; -1 if it is not a number or exceeds 2^53. */
int64_t top_int(const cJSON *o, const char *name);
bool top_true(const cJSON *o, const char *name);
/* Copies the text of the member `name`, cut between characters if it is too long; "" if it is not a
 * string. */
void top_text(char *out, size_t len, const cJSON *o, const char *name);
/* Reads the member "buckets" of a job or rank. */
void top_time_read(struct top_time *t, const cJSON *o);

#endif
