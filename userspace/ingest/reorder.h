/* SPDX-License-Identifier: Apache-2.0 */
/* reorder.h - holds records and gives them back in order of (time, arrival). Pure.
 *
 * What arrives in order, nearly all, is a queue; the rest is a heap: no time to speak of for the
 * one, O(log n) a record for the worst that can be fed. No allocation a record. */
#ifndef INGEST_REORDER_H
#define INGEST_REORDER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

struct reorder_item {
	uint64_t ts_ns;
	uint64_t arrival;
	size_t at; /* of the record, in bytes */
};

struct reorder_list {
	struct reorder_item *items;
	size_t head, len, cap; /* head: first one still held (queue only) */
};

/* Zero-initialised is empty and valid. */
struct reorder {
	char *bytes, *spare; /* records; spare: the other half of a compaction */
	size_t len, cap, spare_cap;
	struct reorder_list queue, heap;
	uint64_t arrivals;
	size_t held_bytes;
};

/* Copies raw bytes in, 8-aligned; *ret is where they are, until reorder_trim(). Nothing is held
 * yet. */
int reorder_load(struct reorder *r, const void *bytes, size_t len, const char **ret);
/* Holds a record that lies in loaded bytes. 0 or -ENOMEM. */
int reorder_push(struct reorder *r, const struct gp_rec *rec);
/* The earliest record if it is not stamped after until_ns, else NULL. Valid until
 * reorder_trim(). */
const struct gp_rec *reorder_pop(struct reorder *r, uint64_t until_ns);
/* Forgets the bytes of records that are held no more. Without memory for it they stay for now. */
void reorder_trim(struct reorder *r);
size_t reorder_count(const struct reorder *r);
void reorder_free(struct reorder *r);
/* Reading: into an empty one; at most max records and max_bytes, all of which decode. */
void reorder_archive(struct archive *a, struct reorder *r, size_t max, size_t max_bytes);

#endif
