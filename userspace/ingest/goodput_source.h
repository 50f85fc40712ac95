/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_source.h - records from log files: JSON lines, whole JSON documents (an array of entries,
 * objects one after the other), Cloud Logging entries (`jsonPayload`, `timestamp`, `insertId`),
 * plain or gzip, standard input. Streams: memory is bounded whatever the length of the log, its
 * lines and its arrays (an entry of more than GOODPUT_ENTRY_MAX bytes is bad). Everything in a log
 * is hostile input.
 *
 * Order: records come in that of the log. Those whose write time is the log's own word are put into
 * its order, ties by insertId, and told once where insertId says that they are the same; see
 * goodput_order.h for what that takes. Files are read one after the other, and their records are
 * one log; an entry ends with its file. Where each file's first record says when it was written,
 * that is the order of the files (not of what is followed, and not with pipes); else it is the
 * caller's. Not thread-safe. */
#ifndef INGEST_GOODPUT_SOURCE_H
#define INGEST_GOODPUT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

#define GOODPUT_ENTRY_MAX (1u << 20) /* bytes; Cloud Logging's own limit is 256 KiB */

struct goodput_faults {	     /* what was not used */
	uint64_t entries;    /* read, of any kind */
	uint64_t bad;	     /* no JSON, or a record with a value that is none */
	uint64_t foreign;    /* entries that are no goodput records: skipped, no fault */
	uint64_t duplicates; /* same insertId and time */
	uint64_t late;	     /* came too late to be put in order: told where they came */
	bool cut; /* the last entry of a file, or its gzip stream, has no end; not counted as bad */
	char first[512]; /* the first bad one: "FILE:LINE: reason", escaped; "" : none */
};

struct goodput_source;
/* paths: "-" is standard input; kept by reference. follow: at the end of the last file wait for
 * more, as goodput_source_next() says; a file that was cut short or replaced is told of and read
 * from its start. 0 or -errno after one line (errors of opening are errors; files that end badly
 * are faults). */
int goodput_source_open(struct goodput_source **ret, char *const *paths, int count, bool follow);
void goodput_source_close(struct goodput_source *s);
/* 1: *ret is the next record; 0: the end, or, when following, nothing more for now (ask again);
 * -EAGAIN: much was read, and no record in it (ask again); another -errno after one line: the file
 * could not be read on. */
int goodput_source_next(struct goodput_source *s, struct goodput_record *ret);
/* Following: nothing will ever come again (standard input was a pipe, and is closed). */
bool goodput_source_over(const struct goodput_source *s);
const struct goodput_names *goodput_source_names(const struct goodput_source *s);
void goodput_source_faults(const struct goodput_source *s, struct goodput_faults *ret);
/* Bytes read of those there are, 0 to 1; negative where that is not known. */
double goodput_source_progress(const struct goodput_source *s);

#endif
