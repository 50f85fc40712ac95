/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - from raw records in order of arrival to decoded events in order of time.
 * A pure function of the bytes fed: a live run and the replay of its tape give the same events.
 *
 * Rings are not in time order and there are two of them; a record is held until a drain mark says
 * that everything stamped before it has arrived. Equal stamps keep their order of arrival. What
 * comes after its place was passed is dropped and counted (`late`); what cannot be decoded likewise
 * (`malformed`); both reach the sink as loss events. */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"

struct stream;
typedef void stream_fn(void *ctx, const struct event *ev); /* ev is valid during the call only */

/* How long before the start of a drain a record may have been stamped and still not be in the ring:
 * the program that wrote it can have been preempted in between. */
#define STREAM_SLACK_NS 20000000ull

struct stream *stream_new(stream_fn *sink, void *ctx); /* NULL: no memory */
void stream_free(struct stream *s);
/* records: back to back, each padded to 8 (a ring peek, a tape frame). 0 or -ENOMEM. */
int stream_feed(struct stream *s, const void *records, size_t len);
/* No more will come: releases everything held. */
void stream_finish(struct stream *s);
uint64_t stream_events(const struct stream *s); /* delivered so far */

/* Appends held records and counts to out. Returns 0 or -ENOMEM. */
int stream_save(const struct stream *s, struct buffer *out);
/* A stream that goes on where the saved one stood. -EPROTO: of another version; -EBADMSG: damaged;
 * -ENOMEM. Hostile bytes are refused or harmless. */
int stream_load(struct stream **ret, stream_fn *sink, void *ctx, const void *data, size_t len);

#endif
