/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_entry.h - parses one JSON entry of a log to a record.
 *
 * An entry is the record itself, or a Cloud Logging entry: the record under `jsonPayload`, the time
 * of writing as `timestamp` (RFC 3339), and `insertId`. In a record without `jsonPayload`, `_ts`
 * (epoch seconds) is the time of writing. If a key occurs twice, the last value counts, at the
 * position of the first, as in Python. If a record describes several events, only the first in the
 * order of enum goodput_kind counts. Letters a to z of custom event types become capitals. */
#ifndef INGEST_GOODPUT_ENTRY_H
#define INGEST_GOODPUT_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

/* Bytes of an insertId that are kept; Cloud Logging makes ids of half this length. */
#define GOODPUT_ID_MAX	   32
#define GOODPUT_REASON_MAX 128 /* bytes of a reason, which contains no text from the log */

struct goodput_entry {
	struct goodput_record record;
	/* insertId: its first bytes, padded with zeros, and a hash of all; 0: none */
	char id[GOODPUT_ID_MAX];
	uint64_t id_hash;
};

struct goodput_parser;
struct goodput_parser *
goodput_parser_new(struct goodput_names *names); /* borrowed. NULL: no memory */
void goodput_parser_free(struct goodput_parser *p);
/* Parses an entry. Returns 1: *ret is the record; 0: not a goodput record; -EBADMSG: see reason. On
 * entry *ret holds the preceding record, whose write_us is used if this one has no time
 * (GOODPUT_UNKNOWN before the first). */
int goodput_entry_parse(struct goodput_parser *p, const char *text, size_t len,
			struct goodput_entry *ret, char reason[GOODPUT_REASON_MAX]);

#endif
