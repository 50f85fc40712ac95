/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - requests to the API server (or a kubelet) with the token of the service account: where
 * that is, which token, and what a refusal means. What comes back is hostile. */
#ifndef KUBERNETES_ACCESS_H
#define KUBERNETES_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/cloud/web.h"

/* ---- who is asked */

/* Returns the variable of the environment; NULL: not set, or empty. */
const char *access_environment(const char *name);
/* Letters, digits, ".-_" and those in more; not empty. */
bool access_is_plain(const char *text, const char *more, size_t max);
/* As told, else as KUBERNETES_SERVICE_HOST and _PORT say; the caller's. NULL: there is none, or
 * memory is out. */
char *access_server(const char *given);
/* https://, or http:// of this machine; false after one line. */
bool access_fits(const char *what, const char *url);
/* http://: no token goes there. */
bool access_is_open(const char *url);
/* As told, else that file of the service account: "token", "ca.crt", "namespace"; the caller's.
 * NULL: out of memory. */
char *access_file(const char *given, const char *name);

/* ---- asking */

/* Access to the API server; used by one thread, like web. All but the last two fields are the
 * caller's. */
struct access {
	const char *server, *token_file,
		*ca_file; /* NULL: no token goes there, the system's list */
	bool unverified;
	double token_s; /* the token's file is read again that often, and after a 401 */
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
	web_take_fn *take; /* as of struct web_request */
	void *ctx;
};

/* Once more with a newer token after a 401, all in that time. As web_send(); -EACCES after why: no
 * token. */
int access_send(struct access *a, const struct access_request *rq, struct web_reply *ret);
/* Logs one line for a reply that cannot be used, or a missing one, with what to do. rule: the right
 * that the request needs. */
void access_why(const struct access *a, const struct web_reply *r, const char *what,
		const char *rule, char *out, size_t cap);
void access_free(struct access *a);
/* From 0 to below 1. */
double access_random(void);
/* Full jitter: somewhere up to the bound, which doubles from one failure (0...) to the next. */
double access_backoff_s(double first_s, double max_s, unsigned failures);

#endif
