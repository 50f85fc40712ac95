/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - HTTP/1.1 requests out: libcurl behind the few rules that every client of ours keeps.
 * Certificates are verified, by the system's list or by CURL_CA_BUNDLE, else SSL_CERT_FILE and
 * SSL_CERT_DIR; redirects are not followed (a token must not follow one); bodies are read up to a
 * bound, or handed on as they come; proxies come from the environment as curl reads it
 * (https_proxy, no_proxy...). A struct web is one thread's; connections are kept and used again,
 * and a request is sent once more when one that was kept turns out to have ended without a byte. */
#ifndef CLOUD_WEB_H
#define CLOUD_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define WEB_BODY_MAX (256u << 10) /* of a reply: what is longer is cut, and said to be */

/* A piece of a body; the first, of no bytes, when the headers are there. false: enough, the rest is
 * not waited for. */
typedef bool web_take_fn(void *ctx, const char *data, size_t len);

struct web_request {
	const char *method; /* "GET", "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; NULL: none. Never logged. */
	const void *body;	    /* NULL: none */
	size_t len;
	uint64_t timeout_ms; /* of all of it; connecting takes a third at most, and 10 s */
	bool direct;	     /* past any proxy: the metadata server */
	const char
		*socket; /* path of the unix socket to connect to, whatever url says; NULL: none */
	const char *ca_file; /* certificates are verified by this file's alone, a minute old at
				most; NULL: above */
	bool unverified;     /* the server's certificate is not verified */
	web_take_fn *take;   /* of a reply 200 the body goes there, of any length, and not to body;
				NULL: not */
	void *ctx;	     /* take's */
};

/* The order matters: after RESOLVE to TLS nothing was sent; after the later ones the request, if it
 * was sent (see sent), may have arrived. */
enum web_failure {
	WEB_NONE,
	WEB_RESOLVE,
	WEB_CONNECT, /* also: a proxy refuses */
	WEB_TLS,
	WEB_TIMEOUT,
	WEB_BROKEN,
	WEB_CANCELLED,
	WEB_OTHER, /* the request itself is unfit: its address, a header */
};

struct web_reply {
	enum web_failure failure;
	long status;		/* 0: none came */
	struct buffer body;	/* owned; NUL-terminated where it is not NULL */
	bool cut;		/* and the rest not waited for */
	bool sent;		/* some of the request went out */
	int64_t retry_after_ms; /* -1: absent; seconds and dates are understood, a day at most */
	int64_t date_ns;	/* of the server, UTC; 0: absent */
	char type[64];		/* Content-Type, lower case, without parameters */
	char flavor[16];	/* Metadata-Flavor */
	char why[200];		/* of a failure: one line, printable, without secrets */
};

struct web;
int web_open(struct web **ret); /* 0 or -errno after one line */
void web_close(struct web *w);
/* Length of the part of a URL that may be shown: up to the end of the host, because the rest may be
 * a secret; with a user name only the scheme. */
size_t web_public_len(const char *url);
/* 0: a whole reply came, of whatever status. -EIO: failure and why say what happened; what came
 * before is there. -ENOMEM. Frees what ret held, which must be zero or a reply. */
int web_send(struct web *w, const struct web_request *rq, struct web_reply *ret);
void web_reply_free(struct web_reply *r);
/* From any thread: a running request ends within a tenth of a second, later ones fail at once. */
void web_cancel(struct web *w);
bool web_is_cancelled(const struct web *w);
/* An address of this machine: no other machine can read what is sent there in the clear. Names
 * other than localhost are not. */
bool web_is_loopback(const char *url);
/* Percent-encodes all but unreserved characters. */
void web_escape(struct buffer *out, const char *text);

#endif
