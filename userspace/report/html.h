/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - a job report as an HTML page: no script and no network requests; charts as SVG; for
 * light and dark screens and for paper. It is also well-formed XML. Every number that has a name in
 * the JSON object is a <data> element with the same value. The size does not grow with the length
 * of the run, except for lists (document.h). */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "userspace/base/buffer.h"
#include "userspace/report/document.h"

void html_report(struct buffer *out, const struct report_document *s);

/* Appends text, with characters escaped that are special in elements and attributes. */
void html_text(struct buffer *out, const char *text);

#endif
