/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_entry.h - one entry of a log, JSON, as a record.
 *
 * An entry is the record itself, or a Cloud Logging entry: the record under `jsonPayload`, the time
 * of writing as `timestamp` (RFC 3339), and `insertId`. Beside the keys of a record without
 * `jsonPayload`, `_ts` (epoch seconds) is the time of writing. If a key is there twice, the last
 * value counts, at the place of the first, as in Python. A record that tells several things is the
 * first of them in the order of enum goodput_kind. Letters A to Z of custom event types are made
 * capital. */
#ifndef INGEST_GOODPUT_ENTRY_H
#define INGEST_GOODPUT_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/ingest/goodput_names.h"
#include "userspace/ingest/goodput_record.h"

#define GOODPUT_ID_MAX	   32  /* Cloud Logging's own are half as long */
#define GOODPUT_REASON_MAX 128 /* plain words, nothing of the log's in them */

struct goodput_entry {
	struct goodput_record record;
	/* insertId: its first bytes, zeros behind them, and a hash of all; 0: it has none */
	char id[GOODPUT_ID_MAX];
	uint64_t id_hash;
};

struct goodput_parser;
struct goodput_parser *
goodput_parser_new(struct goodput_names *names); /* by reference. NULL: no memory */
void goodput_parser_free(struct goodput_parser *p);
/* 1: *ret; 0: no record of ours; -EBADMSG: reason says why. *ret holds the record before, for those
 * that have no time at all; before the first its write_us is GOODPUT_UNKNOWN. */
int goodput_entry_parse(struct goodput_parser *p, const char *text, size_t len,
			struct goodput_entry *ret, char reason[GOODPUT_REASON_MAX]);

#endif
