/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_source.h - reads records from log files or standard input: JSON lines, JSON documents (an
 * array of entries, or consecutive objects), Cloud Logging entries (`jsonPayload`, `timestamp`,
 * `insertId`), plain or gzip. Memory is bounded whatever the length of the log, its lines and its
 * arrays (an entry of more than GOODPUT_ENTRY_MAX bytes is bad). Everything in a log is hostile
 * input.
 *
 * Order: records come in the order of the log. Those with a write time in the log are sorted by it,
 * ties by insertId, and duplicates by insertId are dropped; see goodput_order.h for the cost.
 * Several files are read one after the other as one log; an entry ends with its file. If the first
 * record of each file has a write time, files are read in that order (not when following, and not
 * with pipes); else in the caller's order. Not thread-safe. */
#ifndef INGEST_GOODPUT_SOURCE_H
#define INGEST_GOODPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Limit of bytes of an entry; that of Cloud Logging is 256 KiB. */
#define GOODPUT_ENTRY_MAX (1u << 20)

struct goodput_faults {	     /* entries that were not used */
	uint64_t entries;    /* entries read, of any kind */
	uint64_t bad;	     /* not JSON, or a record with an invalid value */
	uint64_t foreign;    /* entries that are not goodput records: skipped, not an error */
	uint64_t duplicates; /* records with the insertId and time of another one */
	/* Records that came too late to be sorted: they stay where they are in the log. */
	uint64_t late;
	bool cut; /* the end of a file, or of its gzip stream, is missing; not counted as bad */
	char first[512]; /* the first bad one: "FILE:LINE: reason", escaped; "": none */
};

struct goodput_source;
/* paths: "-" is standard input; borrowed. follow: wait for more at the end of the last file, see
 * goodput_source_next(); a file that was truncated or replaced is logged, and read from its
 * beginning. Returns 0, or -errno after one line. Only failing to open a file is an error; files
 * that end badly are counted as faults. */
int goodput_source_open(struct goodput_source **ret, char *const *paths, int count, bool follow);
void goodput_source_close(struct goodput_source *s);
/* Returns 1: *ret is the next record; 0: the end, or, when following, nothing more for now (call
 * again); -EAGAIN: many bytes were read without a record (call again); another -errno after one
 * line: the file cannot be read. */
int goodput_source_next(struct goodput_source *s, struct goodput_record *ret);
/* When following: returns true if nothing can come any more (standard input was a pipe, and is
 * closed). */
bool goodput_source_over(const struct goodput_source *s);
const struct goodput_names *goodput_source_names(const struct goodput_source *s);
void goodput_source_faults(const struct goodput_source *s, struct goodput_faults *ret);
/* Returns the share of the bytes that have been read, 0 to 1; negative if the size is unknown. */
double goodput_source_progress(const struct goodput_source *s);

#endif
