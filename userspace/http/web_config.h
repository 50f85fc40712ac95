/* SPDX-License-Identifier: Apache-2.0 */
/* web_config.h - TLS, basic auth and headers of an HTTP server, from a file in the format shared by
 * Prometheus exporters (exporter-toolkit, docs/web-configuration.md). A key that is not supported
 * here is an error that names the key: the server never offers less protection than the file asks
 * for. */
#ifndef HTTP_WEB_CONFIG_H
#define HTTP_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define WEB_USERS    64
#define WEB_NAMES    32 /* limit of client names, cipher suites or curves in a list */
#define WEB_HEADERS  5
#define WEB_HASH_LEN 60 /* length of a bcrypt hash */
#define WEB_COST_MIN 4
/* highest bcrypt cost that is accepted: 2^16 rounds take seconds, in which no other password is
 * checked */
#define WEB_COST_MAX 16
#define WEB_TLS_MIN  10 /* lowest TLS version, as major and minor digit: TLS 1.0 */
#define WEB_TLS_MAX  13

enum web_client {
	WEB_CLIENT_NONE,     /* no certificate is requested */
	WEB_CLIENT_REQUEST,  /* a certificate is requested, but not checked */
	WEB_CLIENT_ANY,	     /* a certificate is required, but not checked */
	WEB_CLIENT_IF_GIVEN, /* a certificate is checked if the client sends one */
	WEB_CLIENT_VERIFIED, /* a certificate is required, and must be signed by client_ca */
};

struct web_names {
	char *name[WEB_NAMES];
	size_t count;
};

/* PEM data, as the name of a file or as text; both NULL: not given. Relative names are made
 * relative to the folder of the config. */
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
	bool server_chooses; /* the server's order of ciphers is used, not the client's */
	struct web_names ciphers, curves;
	char priority[1024]; /* versions, ciphers and curves as a GnuTLS priority string */
	/* in the order of web_header_rows; NULL: not in the file; "": do not send the header */
	char *header[WEB_HEADERS];
	struct web_user user[WEB_USERS];
	size_t users;
	bool http2; /* the file asks for HTTP/2, which is not supported */
};

struct web_header {
	/* the value sent if the file does not set the header; NULL: none */
	const char *name, *value;
	const char *allowed[2]; /* the only values allowed; NULL: any text */
};
extern const struct web_header web_header_rows[WEB_HEADERS];

/* Reads the config, but not its certificates. Returns 0, or -errno after logging one line. */
int web_config_read(struct web_config **ret, const char *file);
void web_config_free(struct web_config *c); /* c may be NULL */
/* Returns true if every client must send a password or a verified certificate. */
bool web_config_protects(const struct web_config *c);

#endif
