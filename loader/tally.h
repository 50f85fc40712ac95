/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - hits of each process and probe, since the last look. Fast for what comes by the hundred
 * thousand a second: records of a ring. */
#ifndef LOADER_TALLY_H
#define LOADER_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct tally;

struct tally *tally_new(void); /* NULL: no memory */
void tally_free(struct tally *t);

/* Records back to back, each padded to 8; those of calls count as sent. What is malformed is passed
 * over. */
void tally_records(struct tally *t, const void *records, size_t len);
/* Hits that were counted and not sent. */
void tally_count(struct tally *t, uint32_t pid, uint32_t probe, uint64_t hits);

typedef void tally_fn(void *ctx, uint32_t pid, uint32_t probe, uint64_t sent, uint64_t counted);
/* Everything since the last call, which is then forgotten. */
void tally_take(struct tally *t, tally_fn *fn, void *ctx);

#endif
