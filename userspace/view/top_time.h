/* SPDX-License-Identifier: Apache-2.0 */
/* top_time.h - reads values from the JSON of a state, and a ledger; a value of an unexpected type
 * counts as absent. For top_state.c. Pure. */
#ifndef VIEW_TOP_TIME_H
#define VIEW_TOP_TIME_H

#include <cjson/cJSON.h>

#include "userspace/view/top_state.h"

/* Returns the member; NULL if o is not an object. */
const cJSON *top_get(const cJSON *o, const char *name);
/* Returns the member; NULL if it is not an array. */
const cJSON *top_list(const cJSON *o, const char *name);
/* Returns the number; 0 if v is not a number, or negative. */
uint64_t top_number(const cJSON *v);
uint64_t top_uint(const cJSON *o, const char *name);
/* Returns the number; -1 if the member is not a number, or exceeds 2^53. */
int64_t top_int(const cJSON *o, const char *name);
bool top_true(const cJSON *o, const char *name);
/* Copies a text, cut between characters if it is too long; "" if the member is not a string. */
void top_text(char *out, size_t len, const cJSON *o, const char *name);
/* Reads "buckets" of a job or rank. */
void top_time_read(struct top_time *t, const cJSON *o);

#endif
