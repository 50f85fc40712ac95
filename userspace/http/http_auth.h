/* SPDX-License-Identifier: Apache-2.0 */
/* http_auth.h - basic auth with bcrypt, which takes tens of milliseconds by design: it runs on a
 * thread of its own, one password at a time, so that other requests are not delayed. The right
 * password of each user is cached after its first use (as a keyed digest), and is then accepted at
 * once. Checking wrong passwords is limited to a fifth of a CPU, at the lowest priority. The queue
 * holds few requests of one address; the address with the fewest recent wrong passwords comes
 * first, and is kept when the queue is full. */
#ifndef HTTP_HTTP_AUTH_H
#define HTTP_HTTP_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/http/web_config.h"

#define HTTP_AUTH_WAITING 16 /* limit of passwords in the queue */
#define HTTP_AUTH_ADDRESS 4  /* limit of passwords in the queue from one address */
/* limit of the header's value "Basic ..." in bytes; a longer one is refused as a wrong password */
#define HTTP_AUTH_TEXT	 1024
#define HTTP_AUTH_DIGEST 32

enum http_auth_answer { HTTP_AUTH_YES, HTTP_AUTH_NO, HTTP_AUTH_LATER, HTTP_AUTH_BUSY };

/* One request; owned by the caller, which must not move it while it waits. Filled by
 * http_auth_ask(). */
struct http_auth_ask {
	void *ctx;	  /* for done(); the caller sets ctx, address and done */
	uint64_t address; /* client, from http_conn_address(), to count wrong passwords by client */
	void (*done)(struct http_auth_ask *q); /* called on the auth thread when answer is set */
	enum http_auth_answer answer;
	struct http_auth_ask *next;
	char password[HTTP_AUTH_TEXT], hash[WEB_HASH_LEN + 1];
	unsigned char digest[HTTP_AUTH_DIGEST];
	int user;   /* index of the user; -1: unknown name */
	bool taken; /* the password is being checked */
};

struct http_auth;
int http_auth_open(struct http_auth **ret); /* returns 0, or -errno after logging one line */
/* Starts to check a request. header: value of Authorization, or NULL. Does not block. If it returns
 * LATER, call http_auth_wait(). */
enum http_auth_answer http_auth_ask(struct http_auth *a, const struct web_config *c,
				    const char *header, struct http_auth_ask *q);
/* Queues the request. done() is called when the request is answered: at once if the queue is full
 * and this request is refused. */
void http_auth_wait(struct http_auth *a, struct http_auth_ask *q);
/* Answers BUSY to all waiting requests and to all new ones. done() is not called after this
 * returns. */
void http_auth_stop(struct http_auth *a);
void http_auth_close(struct http_auth *a); /* a may be NULL */

#endif
