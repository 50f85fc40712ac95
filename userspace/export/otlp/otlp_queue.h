/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_queue.h - spans on their way from whoever sees them end to whoever sends them. Bounded in
 * spans and in bytes: the oldest give way, and are counted. Thread-safe; nobody waits for longer
 * than a copy takes. */
#ifndef EXPORT_OTLP_QUEUE_H
#define EXPORT_OTLP_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define OTLP_QUEUE_SPANS 8192
#define OTLP_QUEUE_BYTES (16u << 20)

struct otlp_queue;
/* 0: the usual bounds. NULL: no memory. */
struct otlp_queue *otlp_queue_new(uint32_t spans, size_t bytes);
void otlp_queue_free(struct otlp_queue *q);
/* A copy of one span's JSON. One that is longer than all the room, or that there is no memory for,
 * is dropped itself. */
void otlp_queue_put(struct otlp_queue *q, const char *text, size_t len);
/* Takes the oldest, up to so many of them and so many bytes, but one at least where there is one:
 * onto out, with commas between. Returns how many. */
uint32_t otlp_queue_take(struct otlp_queue *q, uint32_t spans, size_t bytes, struct buffer *out);
struct otlp_queue_view {
	uint32_t spans;
	size_t bytes;
	uint64_t dropped; /* ever */
};
void otlp_queue_view(struct otlp_queue *q, struct otlp_queue_view *ret);

#endif
