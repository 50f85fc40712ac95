/* SPDX-License-Identifier: Apache-2.0 */
/* top_time.h - reads values of the JSON, and a ledger in it; a value of another type counts as
 * absent. For top_state.c. Pure. */
#ifndef VIEW_TOP_TIME_H
#define VIEW_TOP_TIME_H

#include <cjson/cJSON.h>

#include "userspace/view/top_state.h"

/* NULL if o is not an object. */
const cJSON *top_get(const cJSON *o, const char *name);
/* NULL if it is not an array. */
const cJSON *top_list(const cJSON *o, const char *name);
/* 0 if it is not a number, or negative. */
uint64_t top_number(const cJSON *v);
uint64_t top_uint(const cJSON *o, const char *name);
/* -1 if it is not a number, or more than 2^53. */
int64_t top_int(const cJSON *o, const char *name);
bool top_true(const cJSON *o, const char *name);
/* "" if it is not a string. Cut between characters if it is too long. */
void top_text(char *out, size_t len, const cJSON *o, const char *name);
/* Reads "buckets" of a job or rank. */
void top_time_read(struct top_time *t, const cJSON *o);

#endif
