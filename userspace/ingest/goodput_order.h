/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_order.h - sorts log records by write time.
 *
 * The last GOODPUT_ORDER_KEPT records wait in a heap (about 128 bytes each); each further record
 * releases the earliest. If the first ones are in reverse order (the default of gcloud), all
 * records wait until the end, so memory then grows by about 128 bytes for each record of the
 * log. A record without a write time stays after the records that came before it. Equal times
 * are sorted by insertId (its first 32 bytes), then by arrival; of several records with the same
 * time and insertId only one is released. */
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
/* Adds a record. Call goodput_order_take() until it returns false before. Returns 0 or -ENOMEM. */
int goodput_order_put(struct goodput_order *o, const struct goodput_entry *e);
/* Releases all records. Call if no more records come for now. */
void goodput_order_flush(struct goodput_order *o);
/* Returns true and the next record in order, if one can be released. */
bool goodput_order_take(struct goodput_order *o, struct goodput_record *ret);
uint64_t goodput_order_duplicates(const struct goodput_order *o);
uint64_t
goodput_order_late(const struct goodput_order *o); /* number of records released after a later one,
						      because they arrived too late to be sorted */

#endif
