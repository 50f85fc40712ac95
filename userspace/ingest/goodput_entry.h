/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_entry.h - parses one JSON entry of a job's log.
 *
 * An entry is either a goodput record, or a Cloud Logging entry with the record in `jsonPayload`,
 * the write time in `timestamp` (RFC 3339), and an `insertId`. In an entry without `jsonPayload`,
 * `_ts` (seconds since the epoch) is the write time.
 *
 * If a key occurs twice, its last value is used, at the position of the first, as in Python. If a
 * record describes several events, only the first in the order of enum goodput_kind is used.
 * Letters a to z of custom event types become capitals. */
#ifndef INGEST_GOODPUT_ENTRY_H
#define INGEST_GOODPUT_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Number of bytes of an insertId that are kept. The ids that Cloud Logging makes have half this
 * length. */
#define GOODPUT_ID_MAX 32
/* Size of the text that says why an entry is bad. The text contains nothing from the log. */
#define GOODPUT_REASON_MAX 128

struct goodput_entry {
	struct goodput_record record;
	/* The first bytes of insertId, padded with zeros, and a hash of all its bytes; hash 0: the
	 * entry has no insertId. */
	char id[GOODPUT_ID_MAX];
	uint64_t id_hash;
};

struct goodput_parser;
struct goodput_parser *goodput_parser_new(
	struct goodput_names *names); /* names is borrowed. Returns NULL if there is no memory */
void goodput_parser_free(struct goodput_parser *p);
/* Parses an entry. Returns 1: *ret is the record; 0: the entry is not a goodput record; -EBADMSG:
 * the entry is bad, and reason says why. Before the call, *ret must be the previous record
 * (write_us GOODPUT_UNKNOWN before the first), whose write time is used for a record without any
 * time. */
int goodput_entry_parse(struct goodput_parser *p, const char *text, size_t len,
			struct goodput_entry *ret, char reason[GOODPUT_REASON_MAX]);

#endif
