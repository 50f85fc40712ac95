/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - turns raw records in the order of their arrival into decoded events in the order of
 * their time. The events depend only on the bytes, so a live run and the replay of its tape give
 * the same events.
 *
 * Records come from two rings, neither of which is sorted by time. A record waits until a drain
 * record states that all earlier records have arrived. Records with equal times keep their order of
 * arrival. A record that is older than the last delivered event is dropped and counted as `late`; a
 * record that cannot be decoded is dropped and counted as `malformed`. Both counts are reported as
 * loss events. */
#ifndef INGEST_STREAM_H
#define INGEST_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/ingest/event.h"

struct stream;
typedef void stream_fn(void *ctx, const struct event *ev); /* ev is valid only during the call */

/* Upper bound (ns) of the time between a record's time stamp and its appearance in the ring: the
 * BPF program may be preempted in between. */
#define STREAM_SLACK_NS 20000000ull

struct stream *stream_new(stream_fn *sink, void *ctx); /* NULL: no memory */
void stream_free(struct stream *s);
/* Adds records, each padded to a multiple of 8 bytes, as in a tape frame or from ring_peek().
 * Returns 0 or -ENOMEM. */
int stream_feed(struct stream *s, const void *records, size_t len);
/* Delivers all waiting records. Call at the end of the input. */
void stream_finish(struct stream *s);
uint64_t stream_events(const struct stream *s); /* number of events delivered so far */

/* Appends the waiting records and the counts to out. Returns 0 or -ENOMEM. */
int stream_save(const struct stream *s, struct buffer *out);
/* Creates a stream that continues from saved data, which may be untrusted. Returns 0; -EPROTO:
 * saved by another version; -EBADMSG: damaged; -ENOMEM. */
int stream_load(struct stream **ret, stream_fn *sink, void *ctx, const void *data, size_t len);

#endif
