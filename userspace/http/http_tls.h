/* SPDX-License-Identifier: Apache-2.0 */
/* http_tls.h - certificates, and who may connect, as a web config says. libmicrohttpd makes the
 * sessions; each is given these credentials before its handshake, so that new ones are for new
 * connections. Of one thread. */
#ifndef HTTP_HTTP_TLS_H
#define HTTP_HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "userspace/http/web_config.h"

#define HTTP_PEM_MAX (1 << 20) /* bytes of a file */

struct http_tls;
/* Reads certificate, key and CA. 0 or -errno after one line. c may go away. */
int http_tls_new(struct http_tls **ret, const struct web_config *c, const char *file);
/* session is of t from now on, and t is kept until http_tls_unref(). 0 or -EIO: it must not be
 * used. */
int http_tls_session(struct http_tls *t, gnutls_session_t session);
void http_tls_unref(struct http_tls *t); /* NULL is fine */

#endif
