/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - requests to the API server (or a kubelet) with the token of the service account: finds
 * the server and the token, and explains refusals. Replies are hostile. */
#ifndef KUBERNETES_ACCESS_H
#define KUBERNETES_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

/* ---- server and token */

/* Returns the variable of the environment; NULL: not set, or empty. */
const char *access_environment(const char *name);
/* Whether text is not empty, has at most max bytes, and only letters, digits, ".-_" and characters
 * of more. */
bool access_is_plain(const char *text, const char *more, size_t max);
/* The file `given`, else that file of the service account: "token", "ca.crt", "namespace"; the
 * caller frees it. NULL: no memory. */
char *access_file(const char *given, const char *name);

/* ---- requests */

/* Access to the API server; used by one thread, as is web. */
struct access {
	char *server, *token_file, *ca_file; /* NULL: no token is sent; the system's CA list */
	bool unverified;
	double token_s; /* the token file is read again that often, and after a 401 */
	struct web *web;
	struct buffer header; /* "Authorization: Bearer ..." */
	uint64_t read_ns;
};

struct access_request {
	const char *method; /* NULL: "GET" */
	const char *path;   /* "/api/v1/pods?..." */
	const char *type;   /* "Content-Type: ..."; NULL: none */
	const void *body;
	size_t len;
	double timeout_s;
	web_take_fn *take; /* see struct web_request */
	void *ctx;
};

/* Sets *ret for the server `given`, else that of KUBERNETES_SERVICE_HOST and _PORT: https://, or
 * http:// of this machine, to which no token is sent. what: what it is, for messages. token_file,
 * ca_file: NULL: those of the service account. token_s: as above. Returns 0, with server NULL if
 * there is no Kubernetes here; -ENOMEM; -EDESTADDRREQ after one line: not such a URL. After each of
 * them access_free() is due. */
int access_open(struct access *ret, const char *what, const char *given, const char *token_file,
		const char *ca_file, double token_s);
void access_free(struct access *a); /* not during a request */
/* As web_send(), but after a 401 repeats the request with a new token, within the same time.
 * Returns -EACCES, with a reason in why, if there is no token. */
int access_send(struct access *a, const struct access_request *rq, struct web_reply *ret);
/* Logs one line, with what to do, for a reply that is missing or cannot be used. rule: the
 * permission that the request needs. */
void access_why(const struct access *a, const struct web_reply *r, const char *what,
		const char *rule, char *out, size_t cap);

#endif
