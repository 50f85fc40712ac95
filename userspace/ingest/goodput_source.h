/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_source.h - reads the records of log files or of standard input. Accepts JSON lines,
 * JSON documents (an array of entries, or consecutive objects) and Cloud Logging entries
 * (`jsonPayload`, `timestamp`, `insertId`), plain or as gzip. Memory is bounded, however long
 * the log, its lines and its arrays are; an entry of more than GOODPUT_ENTRY_MAX bytes is bad.
 * Everything in a log is treated as hostile.
 *
 * Records with a write time are sorted by it, ties by insertId, and duplicates (same time and
 * insertId) are dropped; other records keep their order. goodput_order.h states the memory that
 * this takes. Several files are read one after the other as one log; an entry cannot continue in
 * the next file. If the first record of each file has a write time, files are read in order of
 * these times; otherwise, and when following or reading pipes, in the caller's order. Not
 * thread-safe. */
#ifndef INGEST_GOODPUT_SOURCE_H
#define INGEST_GOODPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Size limit of an entry in bytes. Cloud Logging limits its entries to 256 KiB. */
#define GOODPUT_ENTRY_MAX (1u << 20)

struct goodput_faults {	     /* Counts of entries, and of those that were not used. */
	uint64_t entries;    /* number of all entries read */
	uint64_t bad;	     /* entries that are not JSON, and records with an invalid value */
	uint64_t foreign;    /* entries that are not goodput records; skipped without an error */
	uint64_t duplicates; /* records dropped because another has the same insertId and time */
	/* records that arrived too late to be sorted; they keep their position in the log */
	uint64_t late;
	bool cut;	 /* a file or its gzip stream ends too early; not counted as bad */
	char first[512]; /* first bad entry: "FILE:LINE: reason", escaped; "": none */
};

struct goodput_source;
/* Opens a log of `count` files. paths is borrowed; "-" is standard input. follow: at the end of the
 * last file, wait for more data (see goodput_source_next()); if that file is truncated or replaced,
 * log one line and read it from its beginning. Returns 0, or -errno after logging one line: a file
 * cannot be opened. A file that ends too early is not an error, but counted as a fault. */
int goodput_source_open(struct goodput_source **ret, char *const *paths, int count, bool follow);
void goodput_source_close(struct goodput_source *s);
/* Returns 1: *ret is the next record; 0: the end, or, when following, no more data for now (call
 * again); -EAGAIN: read many bytes without a record (call again); another -errno after logging one
 * line: a file cannot be read. */
int goodput_source_next(struct goodput_source *s, struct goodput_record *ret);
/* When following: returns true if no more data can come, because standard input is a pipe whose
 * writers have closed it. */
bool goodput_source_over(const struct goodput_source *s);
const struct goodput_names *goodput_source_names(const struct goodput_source *s);
void goodput_source_faults(const struct goodput_source *s, struct goodput_faults *ret);
/* Returns which share of all bytes has been read, 0 to 1; negative if the size is unknown. */
double goodput_source_progress(const struct goodput_source *s);

#endif
