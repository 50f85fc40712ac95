/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - time by bucket, as signed ns: a ledger, or the increase of a ledger in a minute.
 *
 * The store identifies a bucket by its name (table `names`), so new or unknown buckets need no
 * change of the schema. In memory a bucket has a slot. First come the buckets of the ledger in
 * their order. Then, in a process that writes what a model reports, the types of custom events by
 * number. Then other names in the store, up to SUMS_NAMES_MAX in all. */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/ledger.h"

#define SUMS_NAME_MAX 64 /* bytes of a name */
/* Limit of different names of buckets in a store. The time of further types counts as
 * BUCKET_CUSTOM. */
#define SUMS_NAMES_MAX 64
#define SUMS_SLOTS     (SUMS_NAMES_MAX + LEDGER_TYPES)
_Static_assert(BUCKET_COUNT < SUMS_NAMES_MAX, "a name for each bucket, and some for types");
/* slot of a type of custom events; number: number of the type in the model */
#define SUMS_TYPE(number) (BUCKET_COUNT + (number)-1)

struct sums {
	int64_t ns[SUMS_SLOTS];
};

struct sum_names { /* the names of the slots of struct sums */
	char name[SUMS_SLOTS][SUMS_NAME_MAX];
	/* number of each name in the store; 0: the store does not have the name yet */
	int64_t id[SUMS_SLOTS];
	uint32_t count;
};

/* Sets the names of the ledger's buckets, and removes all other names. */
void sum_names_init(struct sum_names *n);
/* Adds a name with its number in the store. Returns 0, or -ENOSPC if there is no slot for it; its
 * time then counts as OTHER. */
int sum_names_add(struct sum_names *n, const char *name, int64_t id);

/* Reserves the slots for a model's types of custom events. Call before other names are added. */
void sum_names_reserve(struct sum_names *n);
/* Sets the name of the slot for a type of custom events. If the store already has a number for this
 * name, the slot gets it. */
void sum_names_type(struct sum_names *n, uint32_t type, const char *name);
/* Writes the name of the bucket for a type of custom events: "CUSTOM_BADPUT_EVENTS.TYPE". */
void sum_name_of_type(char out[SUMS_NAME_MAX], const char *type);

/* Copies the time of each bucket from the view of a ledger. Time of custom events goes to the slots
 * of their types. */
void sums_of_ledger(struct sums *ret, const struct ledger_view *v);
void sums_add(struct sums *into, const struct sums *more);
void sums_take(struct sums *from, const struct sums *less);
int64_t sums_total(const struct sums *s);

/* Appends the sums that are not 0 to out, encoded for the store. If the name of a bucket has no
 * number in the store, its time counts as BUCKET_CUSTOM. */
void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out);
/* Decodes sums. Returns 0; -EBADMSG: invalid data; -ENOENT: data contains the number of a name that
 * n does not have. */
int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len);

#endif
