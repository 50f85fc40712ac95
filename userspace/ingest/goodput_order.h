/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_order.h - sorts records by the time at which they were written.
 *
 * The last GOODPUT_ORDER_KEPT records are held (about 128 bytes each); when another comes, the
 * earliest leaves. If the first ones run backwards (the default order of gcloud), all are held
 * until the end: memory then grows with the log, by about 128 bytes a record. A record without a
 * write time in the log stays after the records that came before it. Equal times are sorted by
 * insertId (its first 32 bytes), then by arrival; of records equal in both, only one leaves. */
#ifndef INGEST_GOODPUT_ORDER_H
#define INGEST_GOODPUT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/ingest/goodput_entry.h"

#define GOODPUT_ORDER_KEPT 65536

struct goodput_order;
struct goodput_order *goodput_order_new(void); /* NULL: no memory */
void goodput_order_free(struct goodput_order *o);
bool goodput_order_empty(const struct goodput_order *o);
/* Call after goodput_order_take() returned false. Returns 0 or -ENOMEM. */
int goodput_order_put(struct goodput_order *o, const struct goodput_entry *e);
/* Lets all held records leave. Call when no more records come for now. */
void goodput_order_flush(struct goodput_order *o);
/* Returns true with the next record, if one may leave. */
bool goodput_order_take(struct goodput_order *o, struct goodput_record *ret);
uint64_t goodput_order_duplicates(const struct goodput_order *o);
uint64_t
goodput_order_late(const struct goodput_order *o); /* records that came too late to be sorted */

#endif
