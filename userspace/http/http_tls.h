/* SPDX-License-Identifier: Apache-2.0 */
/* http_tls.h - certificates, and which clients may connect, from a web config. libmicrohttpd makes
 * the sessions; each session gets these credentials before its handshake, so that new certificates
 * apply to new connections. Single-threaded. */
#ifndef HTTP_HTTP_TLS_H
#define HTTP_HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "userspace/http/web_config.h"

#define HTTP_PEM_MAX (1 << 20) /* limit of a PEM file in bytes */

struct http_tls;
/* Reads certificate, key and CA. Returns 0, or -errno after logging one line. c may be freed
 * afterwards. */
int http_tls_new(struct http_tls **ret, const struct web_config *c, const char *file);
/* Gives the session the credentials of t, and takes a reference to t until http_tls_unref().
 * Returns 0; -EIO: the session must not be used. */
int http_tls_session(struct http_tls *t, gnutls_session_t session);
void http_tls_unref(struct http_tls *t); /* t may be NULL */

#endif
