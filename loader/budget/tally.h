/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - adds up the hits of each process and probe until tally_take() is called. Fast enough
 * for hundreds of thousands of records per second. */
#ifndef LOADER_TALLY_H
#define LOADER_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct tally;

struct tally *tally_new(void); /* NULL: no memory */
void tally_free(struct tally *t);

/* Adds records, back to back and padded to 8 bytes: each record of a call is one sent hit.
 * Malformed records are ignored. */
void tally_records(struct tally *t, const void *records, size_t len);
/* Adds hits that were counted and not sent. */
void tally_count(struct tally *t, uint32_t pid, uint32_t probe, uint64_t hits);

typedef void tally_fn(void *ctx, uint32_t pid, uint32_t probe, uint64_t sent, uint64_t counted);
/* Reports everything since the last call and resets it. */
void tally_take(struct tally *t, tally_fn *fn, void *ctx);

#endif
