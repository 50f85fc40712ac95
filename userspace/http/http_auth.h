/* SPDX-License-Identifier: Apache-2.0 */
/* http_auth.h - basic auth with bcrypt, which takes tens of milliseconds by design: on a thread of
 * its own, one password at a time, so that nobody else waits. Each user's right password is
 * remembered once it was seen (as a keyed digest), and waits for nobody. Who tries wrong ones
 * waits: they may take a fifth of a CPU, at the lowest priority. Of those who wait only few may be
 * of one address, and whose address gave fewest wrong passwords of late comes first, and stays
 * where there is no room for all. */
#ifndef HTTP_HTTP_AUTH_H
#define HTTP_HTTP_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/http/web_config.h"

#define HTTP_AUTH_WAITING 16   /* passwords, in all */
#define HTTP_AUTH_ADDRESS 4    /* ... of one address */
#define HTTP_AUTH_TEXT	  1024 /* bytes of "Basic ..."; longer is wrong */
#define HTTP_AUTH_DIGEST  32

enum http_auth_answer { HTTP_AUTH_YES, HTTP_AUTH_NO, HTTP_AUTH_LATER, HTTP_AUTH_BUSY };

/* One question; the caller's, who keeps it in place while it waits. Filled by http_auth_ask(). */
struct http_auth_ask {
	void *ctx;			       /* the caller's own, as address and done are */
	uint64_t address;		       /* whom to count it for */
	void (*done)(struct http_auth_ask *q); /* on the other thread: answer is there */
	enum http_auth_answer answer;
	struct http_auth_ask *next;
	char password[HTTP_AUTH_TEXT], hash[WEB_HASH_LEN + 1];
	unsigned char digest[HTTP_AUTH_DIGEST];
	int user;   /* -1: there is none of that name */
	bool taken; /* it is being looked at */
};

struct http_auth;
int http_auth_open(struct http_auth **ret); /* 0 or -errno after one line */
/* header: of Authorization, or NULL. Does not wait. LATER: it takes a while, http_auth_wait() is to
 * follow. */
enum http_auth_answer http_auth_ask(struct http_auth *a, const struct web_config *c,
				    const char *header, struct http_auth_ask *q);
/* done() comes: at once where too many wait, of this one or of whom it takes the place. */
void http_auth_wait(struct http_auth *a, struct http_auth_ask *q);
/* Answers BUSY to all waiting requests and to all new ones. done() is not called after this
 * returns. */
void http_auth_stop(struct http_auth *a);
void http_auth_close(struct http_auth *a); /* NULL is fine */

#endif
