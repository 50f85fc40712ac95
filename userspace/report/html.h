/* SPDX-License-Identifier: Apache-2.0 */
/* html.h - a story as one page: no script, no request to anywhere, charts as SVG, light and dark,
 * screen and paper. It is well-formed XML too. Every number of it that has a name in the JSON
 * object is a <data> with the same value. Bounded: its size does not grow with the length of the
 * run, but for lists (story.h). */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "userspace/base/buffer.h"
#include "userspace/report/story.h"

void html_report(struct buffer *out, const struct story *s);

/* Appends text so that it is text, in an element or an attribute, whatever is in it. */
void html_text(struct buffer *out, const char *text);

#endif
