/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - a list of points to be sent: the JSON of each, and whether and how to send the point
 * again. Points that are sent again, or are queued on disk, keep their exact text. Pure. */
#ifndef EXPORT_BATCH_H
#define EXPORT_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/export/gcm/request.h"

#define BATCH_MAX (2 * SERIES_SET_MAX) /* points */

struct batch_point {
	uint64_t key;	  /* key of the time series */
	int64_t end_ns;	  /* end of the point's interval, UTC */
	uint32_t at, len; /* JSON of the point: offset in the batch's text, and bytes */
	/* a cumulative point of gp-bpf's own series, which is kept on disk during an outage */
	bool cumulative;
	bool gone;  /* finished; batch_sweep() removes it */
	bool maybe; /* was sent and may have arrived */
	bool tried; /* was in an earlier request */
	/* number of times this point was sent again because others in its request failed */
	uint8_t alone;
	uint8_t most;  /* most points allowed in a request with this one; 0: any number */
	uint8_t cause; /* enum sender_drop: why the last request did not write this point */
};

struct batch { /* zeroed: empty */
	struct batch_point *item;
	uint32_t count, cap;
	struct buffer text;
};

void batch_free(struct batch *p);
void batch_clear(struct batch *p); /* Removes all points, keeps the memory. */
/* Adds a copy of the point with this text (one JSON object). Returns 0, -ENOMEM, or -E2BIG when
 * there are BATCH_MAX points. */
int batch_add(struct batch *p, const struct batch_point *point, const char *text, size_t len);
/* Removes finished points. */
void batch_sweep(struct batch *p);

/* Writes the body of the next request: unfinished points from *at on (only cumulative ones if
 * `cumulative`), within REQUEST_SERIES, REQUEST_BYTES and the batch_point.most of each of them.
 * Advances *at. ret_item: receives the index of each point. Returns the number of points. */
uint32_t batch_body(const struct batch *p, uint32_t *at, bool cumulative, struct buffer *body,
		    uint32_t ret_item[REQUEST_SERIES]);

/* Returns true if a text is one JSON object, judged by its brackets and strings only. */
bool batch_whole(const char *text, size_t len);

struct batch_piece {
	const char *text;
	size_t len;
};
/* Splits {"timeSeries":[{...},...]} into its elements. Returns the number of elements; -EBADMSG if
 * the text has another form, or more than max elements. Checks elements only as batch_whole()
 * does. */
int batch_split(const char *body, size_t len, struct batch_piece *ret, uint32_t max);

#endif
