/* SPDX-License-Identifier: Apache-2.0 */
/* http_web.h - the web config in use, and its certificates: read again when one of the files has
 * changed. New ones that are wrong are told in one line, and the old ones stay. Of one thread. */
#ifndef HTTP_HTTP_WEB_H
#define HTTP_HTTP_WEB_H

#include "userspace/http/http_tls.h"
#include "userspace/http/web_config.h"

struct http_web;
/* file NULL: no TLS, no auth. 0 or -errno after one line. */
int http_web_open(struct http_web **ret, const char *file);
/* Looks at the files, at most once a second. True: another config is in use from now on. */
bool http_web_reload(struct http_web *w);
/* Valid until the next look. */
const struct web_config *http_web_config(const struct http_web *w);
struct http_tls *http_web_tls(const struct http_web *w); /* NULL: none */
void http_web_close(struct http_web *w);		 /* NULL is fine */

#endif
