/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/web_config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/config_file.h"
#include "userspace/base/log.h"
#include "userspace/http/web_priority.h"

const struct web_header web_header_rows[WEB_HEADERS] = {
	{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'", {NULL, NULL}},
	{"X-Frame-Options", "deny", {"deny", "sameorigin"}},
	{"X-Content-Type-Options", "nosniff", {"nosniff", NULL}},
	{"X-XSS-Protection", NULL, {NULL, NULL}},
	{"Strict-Transport-Security", NULL, {NULL, NULL}},
};

/* State while a file is read key by key. The functions below that set a value return NULL, or the
 * reason why they refuse it. */
struct web_reader {
	struct web_config *c;
	const char *dir; /* folder of the file, ending in a slash; or "" */
	unsigned seen;	 /* one bit for each row of the table whose key was read */
	unsigned headers;
	bool tls_given; /* a key that needs TLS was set */
};

static const char *web_config_set_text(char **place, const char *value)
{
	char *own = strdup(value);

	if (!own)
		return "no memory";
	free(*place);
	*place = own;
	return NULL;
}

static const char *web_config_set_file(struct web_reader *r, void *place, const char *value)
{
	char **file = place, *own = NULL;

	if (!*value)
		return NULL;
	if (asprintf(&own, "%s%s", *value == '/' ? "" : r->dir, value) < 0)
		return "no memory";
	free(*file);
	*file = own;
	r->tls_given = true;
	return NULL;
}

static const char *web_config_set_pem(struct web_reader *r, void *place, const char *value)
{
	if (!*value)
		return NULL;
	r->tls_given = true;
	return web_config_set_text(place, value);
}

static const char *web_config_set_name(struct web_reader *r, void *place, const char *value)
{
	struct web_names *names = place;
	const char *wrong;

	(void)r;
	if (names->count == WEB_NAMES)
		return "too many";
	wrong = web_config_set_text(&names->name[names->count], value);
	names->count += !wrong;
	return wrong;
}

static const char *web_config_set_bool(struct web_reader *r, void *place, const char *value)
{
	(void)r;
	if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		return "expected true or false";
	*(bool *)place = !strcmp(value, "true");
	return NULL;
}

static const char *web_config_set_version(struct web_reader *r, void *place, const char *value)
{
	static const char *const version[] = {"TLS10", "TLS11", "TLS12", "TLS13"};

	(void)r;
	for (int i = 0; i <= WEB_TLS_MAX - WEB_TLS_MIN; i++)
		if (!strcmp(value, version[i])) {
			*(int *)place = WEB_TLS_MIN + i;
			return NULL;
		}
	return "expected TLS10, TLS11, TLS12 or TLS13";
}

static const char *web_config_set_client(struct web_reader *r, void *place, const char *value)
{
	static const struct {
		const char *name;
		enum web_client is;
	} row[] = {
		{"", WEB_CLIENT_NONE},
		{"NoClientCert", WEB_CLIENT_NONE},
		{"RequestClientCert", WEB_CLIENT_REQUEST},
		{"RequireClientCert", WEB_CLIENT_ANY},
		{"RequireAnyClientCert", WEB_CLIENT_ANY},
		{"VerifyClientCertIfGiven", WEB_CLIENT_IF_GIVEN},
		{"RequireAndVerifyClientCert", WEB_CLIENT_VERIFIED},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!strcmp(value, row[i].name)) {
			*(enum web_client *)place = row[i].is;
			r->tls_given |= *value != '\0';
			return NULL;
		}
	return "expected NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert";
}

struct web_row {
	const char *key;
	const char *(*set)(struct web_reader *r, void *place, const char *value);
	size_t at;
	bool list;
};
#define AT(field) offsetof(struct web_config, field)
#define TLS(key)  "tls_server_config." key

static const struct web_row web_rows[] = {
	{TLS("cert_file"), web_config_set_file, AT(cert.file), false},
	{TLS("cert"), web_config_set_pem, AT(cert.text), false},
	{TLS("key_file"), web_config_set_file, AT(key.file), false},
	{TLS("key"), web_config_set_pem, AT(key.text), false},
	{TLS("client_ca_file"), web_config_set_file, AT(client_ca.file), false},
	{TLS("client_ca"), web_config_set_pem, AT(client_ca.text), false},
	{TLS("client_auth_type"), web_config_set_client, AT(client), false},
	{TLS("client_allowed_sans"), web_config_set_name, AT(sans), true},
	{TLS("min_version"), web_config_set_version, AT(tls_min), false},
	{TLS("max_version"), web_config_set_version, AT(tls_max), false},
	{TLS("cipher_suites"), web_config_set_name, AT(ciphers), true},
	{TLS("prefer_server_cipher_suites"), web_config_set_bool, AT(server_chooses), false},
	{TLS("curve_preferences"), web_config_set_name, AT(curves), true},
	{"http_server_config.http2", web_config_set_bool, AT(http2), false},
};

/* Returns the part of key after prefix; NULL: key does not begin with prefix. */
static const char *web_config_key_below(const char *key, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(key, prefix, len) && key[len] ? key + len : NULL;
}

static const char *web_config_set_header(struct web_reader *r, const char *name, const char *value)
{
	for (int i = 0; i < WEB_HEADERS; i++) {
		const struct web_header *h = &web_header_rows[i];

		if (strcmp(name, h->name) != 0)
			continue;
		if (r->headers & (1u << i))
			return "given twice";
		r->headers |= 1u << i;
		for (const char *at = value; *at; at++)
			if ((unsigned char)*at < ' ' || *at == 0x7f)
				return "expected one line of text";
		if (*value && h->allowed[0] && strcmp(value, h->allowed[0]) != 0 &&
		    (!h->allowed[1] || strcmp(value, h->allowed[1]) != 0))
			return h->allowed[1] ? "expected deny or sameorigin" : "expected nosniff";
		return web_config_set_text(&r->c->header[i], value);
	}
	return "this header cannot be set";
}

/* Returns why the hash is refused; NULL: it is valid, "$2y$10$" and 53 characters of salt and hash.
 * Without this check, libcrypt would refuse each login of the user without a message. */
static const char *web_config_hash_wrong(const char *hash)
{
	static const char alphabet[] =
		"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	int cost;

	if (strncmp(hash, "$2", 2) != 0 || !hash[2] || !strchr("aby", hash[2]) || hash[3] != '$' ||
	    strlen(hash) != WEB_HASH_LEN || hash[6] != '$' ||
	    strspn(hash + 7, alphabet) != WEB_HASH_LEN - 7 || strspn(hash + 4, "0123456789") != 2)
		return "expected the password's bcrypt hash ($2a$, $2b$ or $2y$; htpasswd -nBC 10 USER)";
	cost = (hash[4] - '0') * 10 + hash[5] - '0';
	if (cost < WEB_COST_MIN || cost > WEB_COST_MAX)
		return "expected a bcrypt cost from 4 to 16; more would take seconds for each password";
	return NULL;
}

static const char *web_config_set_user(struct web_reader *r, const char *name, const char *value)
{
	struct web_user *u = &r->c->user[r->c->users];
	const char *wrong = web_config_hash_wrong(value);

	for (size_t i = 0; i < r->c->users; i++)
		if (!strcmp(r->c->user[i].name, name))
			return "given twice";
	if (!wrong && strchr(name, ':'))
		wrong = "a user's name must not contain a colon"; /* RFC 7617 §2 */
	if (!wrong && r->c->users == WEB_USERS)
		wrong = "too many users";
	if (!wrong)
		wrong = web_config_set_text(&u->name, name);
	if (wrong)
		return wrong;
	memcpy(u->hash, value, WEB_HASH_LEN + 1);
	r->c->users++;
	return NULL;
}

static const char *web_config_set_row(struct web_reader *r, const char *key, const char *value)
{
	static const char *const empty[] = {"tls_server_config", "http_server_config",
					    "basic_auth_users", "http_server_config.headers"};

	for (unsigned i = 0; i < sizeof(web_rows) / sizeof(web_rows[0]); i++) {
		const struct web_row *row = &web_rows[i];

		if (strcmp(key, row->key) != 0)
			continue;
		if (!row->list && r->seen & (1u << i))
			return "given twice";
		r->seen |= 1u << i;
		return row->set(r, (char *)r->c + row->at, value);
	}
	for (size_t i = 0; !*value && i < sizeof(empty) / sizeof(empty[0]); i++)
		if (!strcmp(key, empty[i]))
			return NULL;
	return "this key is not supported";
}

static int web_config_on_value(void *ctx, const char *file, int line, const char *key,
			       const char *value)
{
	struct web_reader *r = ctx;
	const char *name, *wrong;
	char shown[160];

	name = web_config_key_below(key, "basic_auth_users.");
	if (name) {
		wrong = web_config_set_user(r, name, value);
	} else {
		name = web_config_key_below(key, "http_server_config.headers.");
		wrong = name ? web_config_set_header(r, name, value)
			     : web_config_set_row(r, key, value);
	}
	if (!wrong)
		return 0;
	/* The value may be a secret: it is not logged. */
	log_error("%s:%d: %s: %s", file, line, log_escape(shown, sizeof(shown), key, strlen(key)),
		  wrong);
	return -EINVAL;
}

/* Returns what is wrong with a combination of keys, each of which is valid by itself; NULL:
 * nothing. */
static const char *config_wrong(const struct web_config *c, const struct web_reader *r)
{
	bool verifies = c->client == WEB_CLIENT_IF_GIVEN || c->client == WEB_CLIENT_VERIFIED;

	if (!r->tls_given) {
		if (r->seen & ~(1u << (sizeof(web_rows) / sizeof(web_rows[0]) - 1)))
			return "tls_server_config: missing cert_file and key_file; nothing would be encrypted";
		return NULL;
	}
	if (!c->cert.file == !c->cert.text)
		return "tls_server_config: expected either cert_file or cert";
	if (!c->key.file == !c->key.text)
		return "tls_server_config: expected either key_file or key";
	if (c->client_ca.file && c->client_ca.text)
		return "tls_server_config: client_ca_file and client_ca cannot be combined";
	if ((c->client_ca.file || c->client_ca.text) && c->client == WEB_CLIENT_NONE)
		return "tls_server_config.client_ca_file needs a client_auth_type (RequireAndVerifyClientCert)";
	if (verifies && !c->client_ca.file && !c->client_ca.text)
		return "tls_server_config.client_auth_type: needs client_ca_file, to verify certificates";
	if (c->sans.count && c->client != WEB_CLIENT_ANY && c->client != WEB_CLIENT_VERIFIED)
		return "tls_server_config.client_allowed_sans needs client_auth_type RequireAndVerifyClientCert";
	if (c->tls_min > c->tls_max)
		return "tls_server_config: min_version is above max_version";
	return NULL;
}

int web_config_read(struct web_config **ret, const char *file)
{
	const char *slash = strrchr(file, '/'), *wrong;
	struct web_config *c = calloc(1, sizeof(*c));
	char *dir = strndup(file, slash ? (size_t)(slash + 1 - file) : 0);
	struct web_reader r = {.c = c, .dir = dir};
	int err = -ENOMEM;

	if (!c || !dir)
		goto fail;
	c->tls_min = 12;
	c->tls_max = 13;
	c->server_chooses = true;
	err = config_read_again(file, web_config_on_value, &r);
	if (err)
		goto fail;
	c->tls = r.tls_given;
	wrong = config_wrong(c, &r);
	if (wrong)
		log_error("%s: %s", file, wrong);
	err = wrong ? -EINVAL : c->tls ? web_priority(c, file) : 0;
	if (err)
		goto fail;
	free(dir);
	*ret = c;
	return 0;
fail:
	free(dir);
	web_config_free(c);
	return err;
}

static void web_names_free(struct web_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
}

static void web_config_pem_free(struct web_pem *pem)
{
	free(pem->file);
	if (pem->text)
		explicit_bzero(pem->text, strlen(pem->text));
	free(pem->text);
}

void web_config_free(struct web_config *c)
{
	if (!c)
		return;
	web_config_pem_free(&c->cert);
	web_config_pem_free(&c->key);
	web_config_pem_free(&c->client_ca);
	web_names_free(&c->sans);
	web_names_free(&c->ciphers);
	web_names_free(&c->curves);
	for (int i = 0; i < WEB_HEADERS; i++)
		free(c->header[i]);
	for (size_t i = 0; i < c->users; i++)
		free(c->user[i].name);
	free(c);
}

bool web_config_protects(const struct web_config *c)
{
	return c && (c->users || (c->tls && c->client == WEB_CLIENT_VERIFIED));
}
