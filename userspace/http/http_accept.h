/* SPDX-License-Identifier: Apache-2.0 */
/* http_accept.h - negotiates the format of an answer by RFC 9110 §12. Pure; the headers are
 * hostile. A header that is NULL was not sent. */
#ifndef HTTP_HTTP_ACCEPT_H
#define HTTP_HTTP_ACCEPT_H

#include <stdbool.h>

enum prometheus_format {
	PROMETHEUS_TEXT,	/* text 0.0.4, which every reader accepts */
	PROMETHEUS_OPENMETRICS, /* OpenMetrics 1.0.0: with units and creation times */
};
#define PROMETHEUS_FORMATS 2

/* Returns the Content-Type of an answer in this format; static text. */
const char *prometheus_content_type(enum prometheus_format format);

/* Chooses the format for a value of the header Accept. The quality q of a format is that of the
 * most specific media range that matches the format. The highest q wins; at equal q a format that
 * is named wins over a wildcard, then the first named. Text 0.0.4 is used if nothing or only
 * wildcards match, or if the header is malformed, because an answer 406 would lose a scrape. */
enum prometheus_format http_accept_format(const char *accept);
/* Returns true if Accept-Encoding prefers gzip to plain text, or accepts both equally. */
bool http_accept_gzip(const char *accept_encoding);

#endif
