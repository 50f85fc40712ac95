/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - turns raw records in order of arrival into decoded events in order of time. A pure
 * function of the bytes fed: a live run and the replay of its tape give the same events.
 *
 * There are two rings, and neither is in time order; a record is held until a drain mark says that
 * everything with an earlier time has arrived. Equal times keep their order of arrival. A record
 * that comes too late is dropped and counted (`late`), as is one that cannot be decoded
 * (`malformed`); both are reported as loss events. */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"

struct stream;
typedef void stream_fn(void *ctx, const struct event *ev); /* ev is valid only during the call */

/* Longest time from the time stamp of a record to its appearance in the ring: the program that
 * writes the record can be preempted in between. */
#define STREAM_SLACK_NS 20000000ull

struct stream *stream_new(stream_fn *sink, void *ctx); /* NULL: no memory */
void stream_free(struct stream *s);
/* records: back to back, each padded to 8 (a ring peek, or a tape frame). Returns 0 or -ENOMEM. */
int stream_feed(struct stream *s, const void *records, size_t len);
/* Delivers all held records. Call when no more records come. */
void stream_finish(struct stream *s);
uint64_t stream_events(const struct stream *s); /* number of events delivered so far */

/* Appends the held records and counts to out. Returns 0 or -ENOMEM. */
int stream_save(const struct stream *s, struct buffer *out);
/* Makes a stream that continues from the saved one. Returns 0; -EPROTO: another version; -EBADMSG:
 * damaged; -ENOMEM. Hostile bytes are refused or harmless. */
int stream_load(struct stream **ret, stream_fn *sink, void *ctx, const void *data, size_t len);

#endif
