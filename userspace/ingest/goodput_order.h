/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_order.h - sorts log records by write time.
 *
 * The last GOODPUT_ORDER_KEPT records wait in a heap (about 128 bytes each); each further record
 * releases the earliest one. If the first records are in reverse order (the default of gcloud), all
 * records wait until the end of the log, and memory grows by about 128 bytes for each record.
 *
 * A record without a write time stays after the records that came before it. Records with equal
 * times are sorted by insertId (its first 32 bytes), then by arrival. Of several records with the
 * same time and insertId only one is released. */
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
/* Adds a record. Before each call, call goodput_order_take() until it returns false. Returns 0 or
 * -ENOMEM. */
int goodput_order_put(struct goodput_order *o, const struct goodput_entry *e);
/* Makes goodput_order_take() return all waiting records. Call if no more records come for now. */
void goodput_order_flush(struct goodput_order *o);
/* Fills *ret with the next record in order. Returns false if no record can be released yet. */
bool goodput_order_take(struct goodput_order *o, struct goodput_record *ret);
uint64_t goodput_order_duplicates(const struct goodput_order *o);
uint64_t
goodput_order_late(const struct goodput_order *o); /* number of records released after a later one,
						      because they arrived too late to be sorted */

#endif
