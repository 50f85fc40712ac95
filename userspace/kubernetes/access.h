/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - sends requests to the Kubernetes API server, or to a kubelet, with the token of the
 * service account. Finds the server and the token, and explains refusals. Replies may be
 * hostile. */
#ifndef KUBERNETES_ACCESS_H
#define KUBERNETES_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

/* ---- server and token */

/* Returns the value of an environment variable; NULL: it is not set, or empty. */
const char *access_environment(const char *name);
/* Returns true if text has 1 to max bytes, all of which are letters, digits, ".-_" or characters in
 * `more`. */
bool access_is_plain(const char *text, const char *more, size_t max);
/* Returns a copy of `given`, or, if that is NULL, the path of the service account's file `name`
 * ("token", "ca.crt", "namespace"). The caller frees it. NULL: no memory. */
char *access_file(const char *given, const char *name);

/* ---- requests */

/* A server and how to authenticate to it. Used by one thread. */
struct access {
	/* paths; token_file NULL: send no token; ca_file NULL: use the system's list of CAs */
	char *server, *token_file, *ca_file;
	bool unverified;
	/* after this time in seconds the token file is read again */
	double token_s;
	struct web *web;
	struct buffer header; /* the header line "Authorization: Bearer ..." */
	uint64_t read_ns;
};

struct access_request {
	const char *method; /* NULL: "GET" */
	const char *path;   /* "/api/v1/pods?..." */
	const char *type;   /* the header line "Content-Type: ..."; NULL: none */
	const void *body;
	size_t len;
	double timeout_s;
	web_take_fn *take; /* gets the reply as it arrives, see struct web_request */
	void *ctx;
};

/* Sets up access to a server. given: its URL, with https://, or with http:// if it is on this
 * machine (no token is sent to it then); NULL: the server in the environment
 * (KUBERNETES_SERVICE_HOST and _PORT). what: the kind of server, for messages. token_file, ca_file:
 * paths; NULL: the service account's. token_s: see struct access. Returns 0, with ret->server NULL
 * if this machine is not in a Kubernetes cluster; -ENOMEM; -EDESTADDRREQ after logging one line:
 * `given` is not such a URL. Call access_free() in all cases. */
int access_open(struct access *ret, const char *what, const char *given, const char *token_file,
		const char *ca_file, double token_s);
void access_free(struct access *a); /* do not call it during a request */
/* Like web_send(). If the server answers 401, the request is repeated once with a new token, within
 * the same time limit. Returns -EACCES, with the reason in ret->why, if there is no token. */
int access_send(struct access *a, const struct access_request *rq, struct web_reply *ret);
/* Describes in one line why a request failed: there was no reply, or it cannot be used. rule:
 * permission that the request needs. */
void access_why(const struct access *a, const struct web_reply *r, const char *what,
		const char *rule, char *out, size_t cap);

#endif
