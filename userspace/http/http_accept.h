/* SPDX-License-Identifier: Apache-2.0 */
/* http_accept.h - what a client would rather have, by RFC 9110 §12. Pure; the headers are hostile.
 * NULL: there is no such header. */
#ifndef HTTP_HTTP_ACCEPT_H
#define HTTP_HTTP_ACCEPT_H

#include <stdbool.h>

enum prometheus_format {
	PROMETHEUS_TEXT,	/* text 0.0.4, which every reader takes */
	PROMETHEUS_OPENMETRICS, /* OpenMetrics 1.0.0: with units, and with when counts began */
};
#define PROMETHEUS_FORMATS 2

/* Content-Type of an answer in this format; static text. */
const char *prometheus_content_type(enum prometheus_format format);

/* The most specific range that names a format gives its q. The higher q wins; of equal ones the
 * format that is named rather than matched by a wildcard, then the one named first. What nothing
 * matches, wildcards alone and garbage get text 0.0.4, which every reader takes: an answer 406
 * would lose a scrape. */
enum prometheus_format http_accept_format(const char *accept);
/* Accept-Encoding: gzip is wanted at least as much as the plain text. */
bool http_accept_gzip(const char *accept_encoding);

#endif
