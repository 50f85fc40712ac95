/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - writes a job report as an HTML page. The page has no script, makes no network requests,
 * draws charts as SVG, suits light and dark screens and paper, and is well-formed XML. Every number
 * that has a name in the JSON report is a <data> element with the same value. The page does not
 * grow with the length of the run, except for its lists (document.h). */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "userspace/base/buffer.h"
#include "userspace/report/document.h"

void html_report(struct buffer *out, const struct report_document *s);

/* Appends text and escapes the characters that are special in HTML elements and attributes. */
void html_text(struct buffer *out, const char *text);

#endif
