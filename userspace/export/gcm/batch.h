/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - points as they go out: the JSON of each, byte for byte, with what its fate depends on.
 * What is tried again, or kept on disk, is thus the same as at first. Pure. */
#ifndef EXPORT_BATCH_H
#define EXPORT_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/export/gcm/request.h"

#define BATCH_MAX (2 * SERIES_SET_MAX) /* points */

struct batch_point {
	uint64_t key;	/* of its series */
	int64_t end_ns; /* UTC */
	uint32_t at, len;
	bool cumulative; /* of our own: worth keeping */
	bool gone;	 /* done with; batch_sweep() takes it out */
	bool maybe;	 /* was sent, and may have arrived */
	bool tried;	 /* was in a request before */
	uint8_t alone;	 /* times that it was sent again because of others in its request */
	uint8_t most;	 /* points of a request with it; 0: any number */
	uint8_t cause;	 /* enum sender_drop: why it is still here */
};

struct batch { /* zero is empty */
	struct batch_point *item;
	uint32_t count, cap;
	struct buffer text;
};

void batch_free(struct batch *p);
void batch_clear(struct batch *p); /* keeps the memory */
/* A copy of the point with this text (one JSON object). -ENOMEM, -E2BIG: there are BATCH_MAX. */
int batch_add(struct batch *p, const struct batch_point *point, const char *text, size_t len);
/* Takes out those that are gone. */
void batch_sweep(struct batch *p);

/* The body of the next request: points from *at on that are not gone (and are cumulative, where
 * only those are wanted), which moves behind them. Returns how many: at most REQUEST_SERIES, of
 * REQUEST_BYTES, and as many as each of them allows. */
uint32_t batch_body(const struct batch *p, uint32_t *at, bool cumulative, struct buffer *body,
		    uint32_t ret_item[REQUEST_SERIES]);

/* Whether a text is one JSON object, as far as brackets and texts tell. */
bool batch_whole(const char *text, size_t len);

struct batch_piece {
	const char *text;
	size_t len;
};
/* The elements of {"timeSeries":[{...},...]}: how many, or -EBADMSG where it is something else, or
 * more than max. Looks no closer than batch_whole(). */
int batch_split(const char *body, size_t len, struct batch_piece *ret, uint32_t max);

#endif
