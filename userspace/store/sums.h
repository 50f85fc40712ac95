/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - what the buckets of a ledger hold, or gained in a minute, as signed ns.
 *
 * In the store a bucket is its name (table `names`), so one that is new, or that this version does
 * not know, needs no change of the schema. Here it is a slot: those of the ledger first, in its
 * order, then, for who writes what a model tells, its types of custom events by their number; then
 * what else the store has names of, as many as SUMS_NAMES_MAX leaves. */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/ledger.h"

#define SUMS_NAME_MAX  64 /* bytes of one */
#define SUMS_NAMES_MAX 64 /* in a store; time of types beyond is that of BUCKET_CUSTOM */
#define SUMS_SLOTS     (SUMS_NAMES_MAX + LEDGER_TYPES)
_Static_assert(BUCKET_COUNT < SUMS_NAMES_MAX, "a name for each bucket, and some for types");
#define SUMS_TYPE(number) (BUCKET_COUNT + (number)-1) /* slot of a model's type */

struct sums {
	int64_t ns[SUMS_SLOTS];
};

struct sum_names { /* by slot */
	char name[SUMS_SLOTS][SUMS_NAME_MAX];
	int64_t id[SUMS_SLOTS]; /* in the store; 0: not there yet */
	uint32_t count;
};

/* The ledger's own. */
void sum_names_init(struct sum_names *n);
/* A name and its number in the store. -ENOSPC: no slot is left; its time counts as OTHER. */
int sum_names_add(struct sum_names *n, const char *name, int64_t id);

/* Keeps the slots of a model's types free. Before other names are added. */
void sum_names_reserve(struct sum_names *n);
/* One of these has that name; its number in the store may be known. */
void sum_names_type(struct sum_names *n, uint32_t type, const char *name);
/* "CUSTOM_BADPUT_EVENTS.TYPE" */
void sum_name_of_type(char out[SUMS_NAME_MAX], const char *type);

/* Types of custom events in their slots. */
void sums_of_ledger(struct sums *ret, const struct ledger_view *v);
void sums_add(struct sums *into, const struct sums *more);
void sums_take(struct sums *from, const struct sums *less);
int64_t sums_total(const struct sums *s);

/* Those that are not 0, appended to out; what the store has no number of as BUCKET_CUSTOM. */
void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out);
/* -EBADMSG: no sums; -ENOENT: of a name that n does not have. */
int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len);

#endif
