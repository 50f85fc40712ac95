/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_queue.h - spans that wait to be sent. Bounded in spans and bytes: the oldest are dropped and
 * counted. Thread-safe; locked only while a span is copied. */
#ifndef EXPORT_OTLP_QUEUE_H
#define EXPORT_OTLP_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define OTLP_QUEUE_SPANS 8192
#define OTLP_QUEUE_BYTES (16u << 20)

struct otlp_queue;
/* spans, bytes: limits of the queue; 0: the defaults above. Returns NULL if there is no memory. */
struct otlp_queue *otlp_queue_new(uint32_t spans, size_t bytes);
void otlp_queue_free(struct otlp_queue *q);
/* Adds a copy of one span's JSON. A span that is longer than the whole queue, or for which there is
 * no memory, is dropped. */
void otlp_queue_put(struct otlp_queue *q, const char *text, size_t len);
/* Takes the oldest spans within the limits `spans` and `bytes` (but at least one, unless the queue
 * is empty), and appends them to out with commas between. Returns the number taken. */
uint32_t otlp_queue_take(struct otlp_queue *q, uint32_t spans, size_t bytes, struct buffer *out);
struct otlp_queue_view {
	uint32_t spans;
	size_t bytes;
	uint64_t dropped; /* spans dropped since the queue was made */
};
void otlp_queue_view(struct otlp_queue *q, struct otlp_queue_view *ret);

#endif
