/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - time by bucket, as signed ns: a ledger, or its increase in a minute. In the store a
 * bucket is identified by its name (table `names`), so new or unknown buckets need no change of the
 * schema. In memory it is a slot: first those of the ledger in its order; then, in a process that
 * writes what a model reports, the types of custom events by their number; then other names in the
 * store, up to SUMS_NAMES_MAX in all. */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/ledger.h"

#define SUMS_NAME_MAX  64 /* bytes of a name */
#define SUMS_NAMES_MAX 64 /* names in a store; time of types beyond counts as BUCKET_CUSTOM */
#define SUMS_SLOTS     (SUMS_NAMES_MAX + LEDGER_TYPES)
_Static_assert(BUCKET_COUNT < SUMS_NAMES_MAX, "a name for each bucket, and some for types");
#define SUMS_TYPE(number) (BUCKET_COUNT + (number)-1) /* slot of a type of the model */

struct sums {
	int64_t ns[SUMS_SLOTS];
};

struct sum_names { /* by slot */
	char name[SUMS_SLOTS][SUMS_NAME_MAX];
	int64_t id[SUMS_SLOTS]; /* row in the store; 0: not stored yet */
	uint32_t count;
};

/* Sets the ledger's own names. */
void sum_names_init(struct sum_names *n);
/* Adds a name and its number in the store. -ENOSPC: no slot is left, so the name's time counts as
 * OTHER. */
int sum_names_add(struct sum_names *n, const char *name, int64_t id);

/* Reserves the slots of a model's types. Call before other names are added. */
void sum_names_reserve(struct sum_names *n);
/* Names the slot of a type; a number that the store already has for this name is used. */
void sum_names_type(struct sum_names *n, uint32_t type, const char *name);
/* Writes "CUSTOM_BADPUT_EVENTS.TYPE". */
void sum_name_of_type(char out[SUMS_NAME_MAX], const char *type);

/* Copies the ledger, with types of custom events in their slots. */
void sums_of_ledger(struct sums *ret, const struct ledger_view *v);
void sums_add(struct sums *into, const struct sums *more);
void sums_take(struct sums *from, const struct sums *less);
int64_t sums_total(const struct sums *s);

/* Appends the sums that are not 0. A bucket whose name has no number in the store counts as
 * BUCKET_CUSTOM. */
void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out);
/* Returns 0; -EBADMSG: invalid data; -ENOENT: data has a name that n does not have. */
int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len);

#endif
