/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_source.h - reads the records of log files or of standard input. Accepts JSON lines, JSON
 * documents (an array of entries, or consecutive objects) and Cloud Logging entries (`jsonPayload`,
 * `timestamp`, `insertId`), plain or as gzip. Memory is bounded for any length of the log, its
 * lines and its arrays; an entry of more than GOODPUT_ENTRY_MAX bytes is bad. Everything in a log
 * is untrusted.
 *
 * Records with a write time are sorted by it, and those with equal times by insertId; duplicates
 * (same time and insertId) are dropped. Other records keep their order. See goodput_order.h for the
 * memory needed.
 *
 * Several files are read one after the other as one log; an entry cannot continue in the next file.
 * If the first record of each file has a write time, files are read in the order of these times.
 * Otherwise, and when following or reading pipes, they are read in the caller's order. Not
 * thread-safe. */
#ifndef INGEST_GOODPUT_SOURCE_H
#define INGEST_GOODPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Limit of the size of an entry in bytes. Cloud Logging limits entries to 256 KiB. */
#define GOODPUT_ENTRY_MAX (1u << 20)

struct goodput_faults {	  /* Numbers of entries, and of those that were not used */
	uint64_t entries; /* number of all entries read */
	uint64_t bad;	  /* entries that are not JSON, and records with an invalid value */
	uint64_t foreign; /* entries that are not goodput records; skipped, not an error */
	/* Records dropped because another one has the same insertId and time. */
	uint64_t duplicates;
	/* Records that arrived too late to be sorted. They keep their position in the log. */
	uint64_t late;
	bool cut;	 /* a file or its gzip stream ends too early; not counted as bad */
	char first[512]; /* the first bad entry: "FILE:LINE: reason", escaped; "": none */
};

struct goodput_source;
/* Opens a log of `count` files. paths is borrowed; "-" is standard input. Returns 0, or -errno
 * after logging the reason: a file cannot be opened. A file that ends too early is not an error,
 * but counted as a fault.
 *
 * follow: at the end of the last file, wait for more data (see goodput_source_next()). If that file
 * is truncated or replaced, this is logged, and it is read from its beginning. */
int goodput_source_open(struct goodput_source **ret, char *const *paths, int count, bool follow);
void goodput_source_close(struct goodput_source *s);
/* Reads the next record. Returns 1: *ret is the record; 0: the end, or, when following, no more
 * data for now (call again); -EAGAIN: many bytes were read without a record (call again); another
 * -errno after logging the reason: a file cannot be read. */
int goodput_source_next(struct goodput_source *s, struct goodput_record *ret);
/* When following: returns true if no more data can come, because standard input is a pipe and all
 * its writers have closed it. */
bool goodput_source_over(const struct goodput_source *s);
const struct goodput_names *goodput_source_names(const struct goodput_source *s);
void goodput_source_faults(const struct goodput_source *s, struct goodput_faults *ret);
/* Returns the share of all bytes that has been read, from 0 to 1; negative if the size is
 * unknown. */
double goodput_source_progress(const struct goodput_source *s);

#endif
