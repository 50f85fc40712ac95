/* SPDX-License-Identifier: Apache-2.0 */
/* sums.h - what the buckets of a ledger hold, or gained in a minute, as signed ns.
 *
 * In the store a bucket is its name (table `names`), so one that is new, or that this version does not know,
 * needs no change of the schema. Here it is a slot: those of the ledger first, in its order, then what else
 * the store has names of. */
#ifndef STORE_SUMS_H
#define STORE_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/ledger.h"

#define SUMS_SLOTS    64
#define SUMS_NAME_MAX 64
_Static_assert(BUCKET_COUNT <= SUMS_SLOTS, "a slot for each bucket");

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

void sums_of_ledger(struct sums *ret, const struct ledger_view *v);
void sums_add(struct sums *into, const struct sums *more);
void sums_take(struct sums *from, const struct sums *less);
int64_t sums_total(const struct sums *s);

/* Those that are not 0, appended to out. */
void sums_write(const struct sums *s, const struct sum_names *n, struct buffer *out);
/* -EBADMSG: no sums; -ENOENT: of a name that n does not have. */
int sums_read(struct sums *ret, const struct sum_names *n, const void *data, size_t len);

#endif
