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

/* Returns the value of a variable of the environment; NULL: not set, or empty. */
const char *access_environment(const char *name);
/* Returns true if text has 1 to max bytes: letters, digits, ".-_" and characters in more. */
bool access_is_plain(const char *text, const char *more, size_t max);
/* Returns the path `given`, else that of a file of the service account (name: "token", "ca.crt",
 * "namespace"); the caller frees it. NULL: no memory. */
char *access_file(const char *given, const char *name);

/* ---- requests */

/* Access to the API server, used by one thread. */
struct access {
	/* token_file NULL: send no token; ca_file NULL: use the system's list of CAs. */
	char *server, *token_file, *ca_file;
	bool unverified;
	/* Seconds after which the token file is read again; it is also read after a 401. */
	double token_s;
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
 * http:// of this machine, to which no token is sent. what: name of the server's kind, for
 * messages. token_file, ca_file: NULL: those of the service account. token_s: as above. Returns 0,
 * with server NULL if there is no Kubernetes here; -ENOMEM; -EDESTADDRREQ after one line: not such
 * a URL. Call access_free() after each of these results. */
int access_open(struct access *ret, const char *what, const char *given, const char *token_file,
		const char *ca_file, double token_s);
void access_free(struct access *a); /* not during a request */
/* As web_send(), but after a 401 repeats the request with a new token, within the same time.
 * Returns -EACCES, with a reason in why, if there is no token. */
int access_send(struct access *a, const struct access_request *rq, struct web_reply *ret);
/* Writes one line to out about a reply that is missing or cannot be used. rule: the permission that
 * the request needs. */
void access_why(const struct access *a, const struct web_reply *r, const char *what,
		const char *rule, char *out, size_t cap);

#endif
