/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_order.h - records in the order in which they were written.
 *
 * The GOODPUT_ORDER_KEPT last ones are held back, the earliest leaves when another comes: about 128
 * bytes each. When the first of them turn out to run backwards (the default order of gcloud),
 * nothing leaves before the end: memory then grows with the log, about 128 bytes a record. Records
 * without a word of the log about their time stay behind those that came before them, and among
 * themselves as they came. Equal times: by insertId (its first 32 bytes), then as they came; equal
 * in both: one of them leaves. */
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
/* After goodput_order_take() said false. -ENOMEM. */
int goodput_order_put(struct goodput_order *o, const struct goodput_entry *e);
/* Nothing comes for now: what is there leaves. */
void goodput_order_flush(struct goodput_order *o);
/* Is a record to leave? */
bool goodput_order_take(struct goodput_order *o, struct goodput_record *ret);
uint64_t goodput_order_duplicates(const struct goodput_order *o);
uint64_t goodput_order_late(const struct goodput_order *o); /* left where they came */

#endif
