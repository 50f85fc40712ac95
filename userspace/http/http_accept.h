/* SPDX-License-Identifier: Apache-2.0 */
/* http_accept.h - negotiates the form of an answer by RFC 9110 §12. Pure; the headers are hostile.
 * NULL: the request has no such header. */
#ifndef HTTP_HTTP_ACCEPT_H
#define HTTP_HTTP_ACCEPT_H

#include <stdbool.h>

enum prometheus_format {
	PROMETHEUS_TEXT,	/* text 0.0.4, which every reader accepts */
	PROMETHEUS_OPENMETRICS, /* OpenMetrics 1.0.0: with units and creation times */
};
#define PROMETHEUS_FORMATS 2

/* Content-Type of an answer in this format; static text. */
const char *prometheus_content_type(enum prometheus_format format);

/* The most specific range that matches a format gives its q. The highest q wins; at equal q a
 * format that is named beats one matched by a wildcard, then the first named. If nothing matches,
 * or only wildcards, or the header is malformed: text 0.0.4, because an answer 406 would lose a
 * scrape. */
enum prometheus_format http_accept_format(const char *accept);
/* Whether Accept-Encoding prefers gzip to plain text, or equally accepts both. */
bool http_accept_gzip(const char *accept_encoding);

#endif
