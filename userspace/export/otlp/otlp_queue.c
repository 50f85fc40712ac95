/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/otlp/otlp_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct queued {
	char *text;
	size_t len;
};

struct otlp_queue {
	pthread_mutex_t lock; /* protects all members below */
	struct queued *ring;
	uint32_t room, first, count;
	size_t bytes, bytes_max;
	uint64_t dropped;
};

struct otlp_queue *otlp_queue_new(uint32_t spans, size_t bytes)
{
	struct otlp_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->room = spans ? spans : OTLP_QUEUE_SPANS;
	q->bytes_max = bytes ? bytes : OTLP_QUEUE_BYTES;
	q->ring = calloc(q->room, sizeof(*q->ring));
	if (!q->ring) {
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

/* Removes the oldest element of the queue and returns it. Call with the lock held; the queue must
 * not be empty. */
static struct queued queue_first(struct otlp_queue *q)
{
	struct queued s = q->ring[q->first];

	q->first = (q->first + 1) % q->room;
	q->count--;
	q->bytes -= s.len;
	return s;
}

void otlp_queue_free(struct otlp_queue *q)
{
	if (!q)
		return;
	while (q->count)
		free(queue_first(q).text);
	pthread_mutex_destroy(&q->lock);
	free(q->ring);
	free(q);
}

void otlp_queue_put(struct otlp_queue *q, const char *text, size_t len)
{
	char *own = len <= q->bytes_max ? malloc(len ? len : 1) : NULL;

	if (own)
		memcpy(own, text, len);
	pthread_mutex_lock(&q->lock);
	while (own && (q->count == q->room || q->bytes + len > q->bytes_max)) {
		free(queue_first(q).text);
		q->dropped++;
	}
	if (own) {
		q->ring[(q->first + q->count++) % q->room] = (struct queued){.text = own,
									     .len = len};
		q->bytes += len;
	} else {
		q->dropped++;
	}
	pthread_mutex_unlock(&q->lock);
}

uint32_t otlp_queue_take(struct otlp_queue *q, uint32_t spans, size_t bytes, struct buffer *out)
{
	uint32_t n = 0;
	size_t sum = 0;

	pthread_mutex_lock(&q->lock);
	while (q->count && n < spans && (!n || sum + q->ring[q->first].len <= bytes)) {
		struct queued s = queue_first(q);

		if (n++)
			buffer_add(out, ",", 1);
		buffer_add(out, s.text, s.len);
		sum += s.len;
		free(s.text);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

void otlp_queue_view(struct otlp_queue *q, struct otlp_queue_view *ret)
{
	pthread_mutex_lock(&q->lock);
	*ret = (struct otlp_queue_view){
		.spans = q->count, .bytes = q->bytes, .dropped = q->dropped};
	pthread_mutex_unlock(&q->lock);
}
