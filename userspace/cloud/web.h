/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - sends HTTP/1.1 requests with libcurl, by the same rules for all clients in gp-bpf.
 * Certificates are verified, with the system's list or with CURL_CA_BUNDLE, or else SSL_CERT_FILE
 * and SSL_CERT_DIR. Redirects are not followed, because a token must not be sent elsewhere. Bodies
 * are stored up to a limit, or passed on in pieces. Proxies are taken from the environment as curl
 * does (https_proxy, no_proxy...). A struct web is used by one thread. Connections are kept open;
 * if one has ended before the first byte of the reply, the request is sent again. */
#ifndef CLOUD_WEB_H
#define CLOUD_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

/* Limit of a reply's body in bytes. A longer body is cut (web_reply.cut). */
#define WEB_BODY_MAX (256u << 10)

/* Receives a piece of a body. The first call has no bytes: it is made when the headers are
 * complete. Returns false to skip the rest. */
typedef bool web_take_fn(void *ctx, const char *data, size_t len);

struct web_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	/* lines "Name: value", NULL-terminated; NULL: none; never logged */
	const char *const *headers;
	const void *body; /* NULL: none */
	size_t len;
	/* Time limit of the whole request. A third of it, at most 10 s, is the limit for
	 * connecting. */
	uint64_t timeout_ms;
	bool direct;	    /* do not use a proxy; for the metadata server */
	const char *socket; /* path of a unix socket to which to connect, instead of the host in
			       url; NULL: none */
	/* File with the only trusted certificates, read again after a minute; NULL: trust the
	 * system's list, or that of CURL_CA_BUNDLE or SSL_CERT_FILE. */
	const char *ca_file;
	bool unverified; /* do not verify the server's certificate */
	/* called with the body of a reply with status 200, of any length; NULL: store the body in
	 * web_reply.body */
	web_take_fn *take;
	void *ctx; /* argument of take */
};

/* Kinds of failures. The order matters: with WEB_RESOLVE to WEB_TLS nothing was sent; with later
 * ones the request may have arrived if web_reply.sent is set. */
enum web_failure {
	WEB_NONE,
	WEB_RESOLVE,
	WEB_CONNECT, /* connecting failed, or a proxy refused the connection */
	WEB_TLS,
	WEB_TIMEOUT,
	WEB_BROKEN,
	WEB_CANCELLED,
	WEB_OTHER, /* the request is invalid, for example its URL or a header */
};

struct web_reply {
	enum web_failure failure;
	long status;	    /* HTTP status; 0: there was no reply */
	struct buffer body; /* owned; data is NUL-terminated, NULL: no body */
	bool cut;	    /* the body was longer than WEB_BODY_MAX */
	bool sent;	    /* at least a part of the request was sent */
	/* value of the header Retry-After (seconds or a date), limited to a day; -1: none */
	int64_t retry_after_ms;
	int64_t date_ns; /* time of the server's clock in the reply, UTC; 0: none */
	char type[64];	 /* value of Content-Type, in lower case, without parameters */
	char flavor[16]; /* value of the header Metadata-Flavor */
	char why[200];	 /* why the request failed: one printable line without secrets */
};

struct web;
int web_open(struct web **ret); /* returns 0, or -errno after logging one line */
void web_close(struct web *w);
/* Returns how many bytes at the beginning of a URL may be shown: up to the end of the host, because
 * the rest may have secrets; only the scheme if the URL has a user name. */
size_t web_public_len(const char *url);
/* Sends a request and waits for the reply. *ret must be zeroed, or an earlier reply, which is
 * freed. Returns 0: the reply is complete, whatever its status; -EIO: ret has failure, why, and
 * what arrived of the reply; -ENOMEM. */
int web_send(struct web *w, const struct web_request *rq, struct web_reply *ret);
void web_reply_free(struct web_reply *r);
/* Ends a running request within 0.1 s, and makes all later ones fail at once. May be called from
 * any thread. */
void web_cancel(struct web *w);
bool web_is_cancelled(const struct web *w);
/* Returns true if the URL's host is an address of this machine, or localhost: data sent there
 * unencrypted does not leave the machine. */
bool web_is_loopback(const char *url);
/* Appends text, percent-encoded except for the unreserved characters of RFC 3986. */
void web_escape(struct buffer *out, const char *text);

#endif
