/* SPDX-License-Identifier: Apache-2.0 */
/* top_time.h - values of the JSON as they are, or nothing; and a ledger in it. For top_state.c.
 * Pure. */
#ifndef VIEW_TOP_TIME_H
#define VIEW_TOP_TIME_H

#include <cjson/cJSON.h>

#include "userspace/view/top_state.h"

/* NULL where o is no object. */
const cJSON *top_get(const cJSON *o, const char *name);
/* NULL: it is no array. */
const cJSON *top_list(const cJSON *o, const char *name);
/* 0: it is no number, or below 0. */
uint64_t top_number(const cJSON *v);
uint64_t top_uint(const cJSON *o, const char *name);
/* -1: likewise, or more than 2^53. */
int64_t top_int(const cJSON *o, const char *name);
bool top_true(const cJSON *o, const char *name);
/* "": it is no text. Cut where it is too long, characters whole. */
void top_text(char *out, size_t len, const cJSON *o, const char *name);
/* "buckets" of a job or a rank. */
void top_time_read(struct top_time *t, const cJSON *o);

#endif
