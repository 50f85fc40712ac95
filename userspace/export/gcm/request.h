/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - series as requests: proto3 JSON of google.monitoring.v3.CreateTimeSeriesRequest and
 * google.api.MetricDescriptor. Integers of 64 bits are strings; times are RFC 3339 in UTC. Pure. */
#ifndef EXPORT_REQUEST_H
#define EXPORT_REQUEST_H

#include "userspace/export/gcm/series.h"

#define REQUEST_SERIES 200    /* of one request: metric_service.proto */
#define REQUEST_BYTES  500000 /* likewise; Google's own C client stays below 512 000 */

struct request_item {	 /* where a series stands in a body: what a partial failure is told by */
	uint32_t series; /* number in the set */
};

/* The next request of a set, from *at on (0 at first), which moves behind it: of those that fit the
 * ones in keep, in order; keep NULL: all. body is written anew. false: there is no more, or no
 * memory (body->failed). items: REQUEST_SERIES of them, may be NULL. */
bool request_next(const struct series_set *s, const char *own_prefix, const bool *keep,
		  uint32_t *at, struct buffer *body, struct request_item *items,
		  uint32_t *ret_items);
/* "/v3/projects/P/timeSeries" */
void request_path(struct buffer *out, const char *project);
/* Body of POST /v3/projects/P/metricDescriptors. */
void request_descriptor(struct buffer *out, const struct series_row *row, const char *own_prefix,
			const char *project);
/* --dry-run: {"path": ..., "body": ...} and a newline. body is JSON already. */
void request_line(struct buffer *out, const char *path, const struct buffer *body);

#endif
