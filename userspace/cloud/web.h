/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - HTTP/1.1 requests by libcurl, with the same rules for all clients in gp-bpf. Certificates
 * are verified, by the system's list or by CURL_CA_BUNDLE, else SSL_CERT_FILE and SSL_CERT_DIR;
 * redirects are not followed (a token must not follow one); bodies are read up to a bound, or
 * passed on in pieces; proxies come from the environment as curl reads it (https_proxy,
 * no_proxy...). One thread uses a struct web. Connections are kept; if a kept one had ended before
 * a byte of the reply, the request is sent again. */
#ifndef CLOUD_WEB_H
#define CLOUD_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

/* Limit of bytes of a reply's body; a longer one is cut (web_reply.cut). */
#define WEB_BODY_MAX (256u << 10)

/* Receives a piece of a body; the first call has no bytes, when the headers are complete. Returns
 * false to skip the rest. */
typedef bool web_take_fn(void *ctx, const char *data, size_t len);

struct web_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; NULL: none. Never logged. */
	const void *body;	    /* NULL: none */
	size_t len;
	/* Limit of the whole request; connecting may take a third of it, at most 10 s. */
	uint64_t timeout_ms;
	bool direct; /* use no proxy, as for the metadata server */
	const char
		*socket; /* path of the unix socket to connect to, whatever url says; NULL: none */
	/* Verify certificates only by this file, which is read again after a minute; NULL: by
	 * the lists above. */
	const char *ca_file;
	bool unverified; /* do not verify the server's certificate */
	/* Receives the body of a reply 200, of any length, instead of web_reply.body; NULL:
	 * none. */
	web_take_fn *take;
	void *ctx; /* argument of take */
};

/* Kinds of failures. The order matters: with RESOLVE to TLS nothing was sent; with later ones the
 * request may have arrived, if it was sent (web_reply.sent). */
enum web_failure {
	WEB_NONE,
	WEB_RESOLVE,
	WEB_CONNECT, /* connecting failed, or a proxy refused */
	WEB_TLS,
	WEB_TIMEOUT,
	WEB_BROKEN,
	WEB_CANCELLED,
	WEB_OTHER, /* the request is invalid: its URL or a header */
};

struct web_reply {
	enum web_failure failure;
	long status;	    /* HTTP status; 0: no reply */
	struct buffer body; /* owned; data is NUL-terminated, or NULL */
	bool cut;	    /* the body was cut at WEB_BODY_MAX */
	bool sent;	    /* a part of the request was sent */
	/* From Retry-After (seconds or a date), at most a day; -1: absent. */
	int64_t retry_after_ms;
	int64_t date_ns; /* time of the server's clock, UTC; 0: absent */
	char type[64];	 /* Content-Type, lower case, without parameters */
	char flavor[16]; /* Metadata-Flavor */
	char why[200];	 /* reason of a failure: one line, printable, without secrets */
};

struct web;
int web_open(struct web **ret); /* 0 or -errno after one line */
void web_close(struct web *w);
/* Returns the length of the part of a URL that may be shown: up to the end of the host, as the rest
 * may be secret; only the scheme if the URL has a user name. */
size_t web_public_len(const char *url);
/* Sends a request. Returns 0: the whole reply has arrived, of any status; -EIO: see failure and
 * why, the part that arrived is kept; -ENOMEM. *ret must be zero or an earlier reply, which is
 * freed. */
int web_send(struct web *w, const struct web_request *rq, struct web_reply *ret);
void web_reply_free(struct web_reply *r);
/* Ends a running request within a tenth of a second, and makes later ones fail at once. May be
 * called from any thread. */
void web_cancel(struct web *w);
bool web_is_cancelled(const struct web *w);
/* Returns true if the URL's host is an address of this machine, so that unencrypted data stays
 * here. Of names only localhost counts. */
bool web_is_loopback(const char *url);
/* Appends text, with all but unreserved characters percent-encoded. */
void web_escape(struct buffer *out, const char *text);

#endif
