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

#define SUMS_NAME_MAX 64 /* bytes of a name */
/* Most different names of buckets in a store. The time of further types counts as BUCKET_CUSTOM. */
#define SUMS_NAMES_MAX 64
#define SUMS_SLOTS     (SUMS_NAMES_MAX + LEDGER_TYPES)
_Static_assert(BUCKET_COUNT < SUMS_NAMES_MAX, "a name for each bucket, and some for types");
/* slot of a type of custom events, by its number in the model */
#define SUMS_TYPE(number) (BUCKET_COUNT + (number)-1)

struct sums {
	int64_t ns[SUMS_SLOTS];
};

struct sum_names { /* by slot */
	char name[SUMS_SLOTS][SUMS_NAME_MAX];
	/* number of the name in the store; 0: the store does not have it yet */
	int64_t id[SUMS_SLOTS];
	uint32_t count;
};

/* Sets the names of the ledger's buckets; no others are known then. */
void sum_names_init(struct sum_names *n);
/* Adds a name and its number in the store. Returns 0, or -ENOSPC: there is no slot for it, so its
 * time counts as OTHER. */
int sum_names_add(struct sum_names *n, const char *name, int64_t id);

/* Reserves the slots for a model's types of custom events. Call before other names are added. */
void sum_names_reserve(struct sum_names *n);
/* Names the slot of a type of custom events. If the store has a number for this name, that is
 * used. */
void sum_names_type(struct sum_names *n, uint32_t type, const char *name);
/* Writes the name of the bucket for a type of custom events: "CUSTOM_BADPUT_EVENTS.TYPE". */
void sum_name_of_type(char out[SUMS_NAME_MAX], const char *type);

/* Copies the time of each bucket from a ledger's view. Custom events go to the slots of their
 * types. */
void sums_of_ledger(struct sums *ret, const struct ledger_view *v);
void sums_add(struct sums *into, const struct sums *more);
void sums_take(struct sums *from, const struct sums *less);
int64_t sums_total(const struct sums *s);

/* Appends the sums that are not 0 to out, encoded for the store. A bucket whose name has no number
 * in the store counts as BUCKET_CUSTOM. */
void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out);
/* Decodes sums. Returns 0; -EBADMSG: invalid data; -ENOENT: data contains a number of a name that n
 * does not have. */
int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len);

#endif
