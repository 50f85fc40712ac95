/* SPDX-License-Identifier: Apache-2.0 */
/* web_config.h - TLS, basic auth and headers of an HTTP server, from a file in the form that
 * Prometheus exporters share (exporter-toolkit, docs/web-configuration.md). What a key of it cannot
 * be given here is refused by name: never is it served with less protection than was asked for. */
#ifndef HTTP_WEB_CONFIG_H
#define HTTP_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define WEB_USERS    64
#define WEB_NAMES    32 /* of client certificates; of cipher suites; of curves */
#define WEB_HEADERS  5
#define WEB_HASH_LEN 60 /* of bcrypt */
#define WEB_COST_MIN 4
#define WEB_COST_MAX 16 /* 2^16 rounds take seconds: more would leave no time to answer */
#define WEB_TLS_MIN  10 /* TLS10 */
#define WEB_TLS_MAX  13

enum web_client {
	WEB_CLIENT_NONE,     /* no certificate is asked for */
	WEB_CLIENT_REQUEST,  /* asked for, and not looked at */
	WEB_CLIENT_ANY,	     /* must be there, and is not looked at */
	WEB_CLIENT_IF_GIVEN, /* looked at if there is one */
	WEB_CLIENT_VERIFIED, /* must be there, and of client_ca */
};

struct web_names {
	char *name[WEB_NAMES];
	size_t count;
};

/* PEM: the name of a file (relative ones made relative to the config's folder), or the text itself;
 * or neither. */
struct web_pem {
	char *file, *text;
};

struct web_user {
	char *name;
	char hash[WEB_HASH_LEN + 1];
};

struct web_config {
	bool tls;
	struct web_pem cert, key, client_ca;
	enum web_client client;
	struct web_names sans;
	int tls_min, tls_max;
	bool server_chooses; /* among ciphers */
	struct web_names ciphers, curves;
	char priority[1024];	   /* all of this, as GnuTLS has it */
	char *header[WEB_HEADERS]; /* as web_header_rows; NULL: not said; "": not to be sent */
	struct web_user user[WEB_USERS];
	size_t users;
	bool http2; /* was asked for by name */
};

struct web_header {
	const char *name, *value; /* what is sent where the file says nothing; NULL: nothing */
	const char *allowed[2];	  /* NULL: any text */
};
extern const struct web_header web_header_rows[WEB_HEADERS];

/* 0 or -errno after one line. Certificates are not read here. */
int web_config_read(struct web_config **ret, const char *file);
void web_config_free(struct web_config *c); /* NULL is fine */
/* Nobody is answered who has not shown who he is. */
bool web_config_protects(const struct web_config *c);

#endif
