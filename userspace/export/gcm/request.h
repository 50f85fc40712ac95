/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - writes series as the bodies of requests: proto3 JSON of
 * google.monitoring.v3.CreateTimeSeriesRequest and google.api.MetricDescriptor. Integers of 64 bits
 * are strings; times are RFC 3339 in UTC. Pure. */
#ifndef EXPORT_REQUEST_H
#define EXPORT_REQUEST_H

#include "userspace/export/gcm/series.h"

/* Limits of one request: the service's limit of series (metric_service.proto), and the bytes of the
 * body (Google's own C client stays below 512,000). */
#define REQUEST_SERIES 200
#define REQUEST_BYTES  500000

/* A series in the body of a request. The service's answer names a series by its position in the
 * body. */
struct request_item {
	uint32_t series; /* index of the series in its series_set */
};

/* Writes the next request of a set to body, from series *at (0 at first) on, and advances *at.
 * keep: which series to send, NULL: all that are valid. items: receives REQUEST_SERIES entries; may
 * be NULL. Returns false when there are no more series, or no memory (body->failed). */
bool request_next(const struct series_set *s, const char *own_prefix, const bool *keep,
		  uint32_t *at, struct buffer *body, struct request_item *items,
		  uint32_t *ret_items);
/* Appends "/v3/projects/P/timeSeries". */
void request_path(struct buffer *out, const char *project);
/* Appends the body of POST /v3/projects/P/metricDescriptors. */
void request_descriptor(struct buffer *out, const struct series_row *row, const char *own_prefix,
			const char *project);
/* Appends the request as a line of --dry-run: {"path": ..., "body": ...} and a newline. body is
 * JSON. */
void request_line(struct buffer *out, const char *path, const struct buffer *body);

#endif
