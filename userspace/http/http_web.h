/* SPDX-License-Identifier: Apache-2.0 */
/* http_web.h - the web config in use and its certificates; reads the files again when one of them
 * has changed. If the new files are wrong, one line is logged, and the old settings stay in use.
 * Single-threaded. */
#ifndef HTTP_HTTP_WEB_H
#define HTTP_HTTP_WEB_H

#include "userspace/http/http_tls.h"
#include "userspace/http/web_config.h"

struct http_web;
/* file NULL: no TLS and no auth. Returns 0, or -errno after logging one line. */
int http_web_open(struct http_web **ret, const char *file);
/* Checks the files, at most once a second. Returns true if another config is in use from now on. */
bool http_web_reload(struct http_web *w);
/* Returns the config in use. Valid until the next http_web_reload(). */
const struct web_config *http_web_config(const struct http_web *w);
struct http_tls *http_web_tls(const struct http_web *w); /* NULL: no TLS */
void http_web_close(struct http_web *w);		 /* w may be NULL */

#endif
