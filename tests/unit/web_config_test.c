/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <gnutls/gnutls.h>

#include "userspace/base/log.h"
#include "userspace/http/web_config.h"

#define HASH	 "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
#define TLS	 "tls_server_config:\n  cert_file: a.crt\n  key_file: /k/b.key\n"
#define SUITES	 TLS "  cipher_suites: "
#define VERIFIED "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n"

static char folder[] = "/tmp/gp-bpf-web-XXXXXX", path[64], captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/web.yml", folder);
	log_sink(capture, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	unlink(path);
	return rmdir(folder);
}

static int config_of(struct web_config **ret, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	captured[0] = '\0';
	return web_config_read(ret, path);
}

/* One line that holds what, and never the secret. */
static void wrong(const char *text, const char *what)
{
	struct web_config *c;

	if (config_of(&c, text) != -EINVAL)
		fail_msg("taken: %s", text);
	if (!strstr(captured, what) || strchr(captured, '\n') != captured + strlen(captured) - 1)
		fail_msg("of %s: %s", text, captured);
	assert_null(strstr(captured, "secret"));
	assert_null(strstr(captured, "NjgRrn"));
}

static void everything(void **state)
{
	struct web_config *c;
	char at[96];

	(void)state;
	assert_int_equal(
		config_of(
			&c, TLS VERIFIED
			"  client_allowed_sans: [prom.example, 10.0.0.1]\n  min_version: TLS13\n"
			"  prefer_server_cipher_suites: false\n  curve_preferences: [X25519, CurveP256]\n"
			"http_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: sameorigin\n"
			"    Content-Security-Policy: \"\"\nbasic_auth_users:\n  a.b: " HASH
			"\n  x y: " HASH "\n"),
		0);
	assert_string_equal(captured, "");
	snprintf(at, sizeof(at), "%s/a.crt", folder);
	assert_true(c->tls);
	assert_string_equal(c->cert.file, at);
	assert_string_equal(c->key.file, "/k/b.key");
	assert_int_equal(c->client, WEB_CLIENT_VERIFIED);
	assert_int_equal(c->sans.count, 2);
	assert_string_equal(c->sans.name[1], "10.0.0.1");
	assert_string_equal(
		c->priority,
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1");
	assert_int_equal(c->users, 2);
	assert_string_equal(c->user[0].name, "a.b");
	assert_string_equal(c->user[1].name, "x y");
	assert_string_equal(c->user[1].hash, HASH);
	assert_string_equal(c->header[0], "");
	assert_string_equal(c->header[1], "sameorigin");
	assert_null(c->header[2]);
	assert_true(c->http2);
	assert_true(web_config_protects(c));
	web_config_free(c);
}

static void little(void **state)
{
	struct web_config *c;

	(void)state;
	assert_int_equal(config_of(&c, ""), 0);
	assert_false(c->tls || c->users || web_config_protects(c));
	web_config_free(c);
	assert_int_equal(
		config_of(&c, "tls_server_config:\nbasic_auth_users:\nhttp_server_config: {}\n"),
		0);
	assert_false(c->tls || c->users);
	web_config_free(c);
	assert_int_equal(config_of(&c, TLS), 0);
	assert_false(web_config_protects(c)); /* encrypted, and for everybody */
	assert_string_equal(c->priority,
			    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE");
	web_config_free(c);
	assert_int_equal(config_of(&c, "basic_auth_users: {prom: \"" HASH "\"}\n"), 0);
	assert_true(web_config_protects(c) && !c->tls);
	web_config_free(c);
	assert_int_equal(web_config_read(&c, "/nowhere/web.yml"), -ENOENT);
}

static void refused(void **state)
{
	(void)state;
	/* keys */
	wrong("rate_limit:\n  burst: 20\n", "rate_limit.burst: this key is not supported");
	wrong("tls_server_config:\n  cert_fil: a\n",
	      "web.yml:2: tls_server_config.cert_fil: this key");
	wrong("tls_config:\n  cert_file: a\n", "tls_config.cert_file");
	wrong("basic_auth_users: prom\n", "basic_auth_users: this key");
	wrong("basic_auth_users: [prom]\n", "basic_auth_users: this key");
	wrong(TLS "  auth_excluded_paths: [/x]\n", "auth_excluded_paths");
	wrong(TLS "  cert_file: b\n", "given twice");
	/* passwords that are none */
	wrong("basic_auth_users:\n  prom: secret\n",
	      "basic_auth_users.prom: expected the password's bcrypt");
	wrong("basic_auth_users:\n  prom: $2x$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n",
	      "bcrypt");
	wrong("basic_auth_users:\n  prom: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7z\n",
	      "bcrypt");
	wrong("basic_auth_users:\n  prom: $2y$17$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n",
	      "cost");
	wrong("basic_auth_users:\n  prom: $2y$03$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\n",
	      "cost");
	wrong("basic_auth_users:\n  prom: $6$saltsalt$secret\n", "bcrypt");
	wrong("basic_auth_users:\n  prom: ''\n", "bcrypt");
	wrong("basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n", "given twice");
	wrong("basic_auth_users:\n  'a:b': " HASH "\n", "colon");
	/* half a TLS */
	wrong("tls_server_config:\n  cert_file: a\n", "either key_file or key");
	wrong("tls_server_config:\n  key_file: a\n", "either cert_file or cert");
	wrong("tls_server_config:\n  client_auth_type: NoClientCert\n", "either cert_file");
	wrong("tls_server_config:\n  min_version: TLS13\n", "nothing would be encrypted");
	wrong("tls_server_config:\n  cert_file: ''\n", "nothing would be encrypted");
	wrong(TLS "  cert: secret\n", "either cert_file or cert");
	wrong(TLS "  client_ca_file: a\n", "needs a client_auth_type");
	wrong(TLS "  client_auth_type: RequireAndVerifyClientCert\n", "needs client_ca_file");
	wrong(TLS "  client_auth_type: VerifyClientCertIfGiven\n", "needs client_ca_file");
	wrong(TLS "  client_auth_type: Verify\n", "client_auth_type: expected");
	wrong(TLS "  client_allowed_sans: [x]\n", "client_allowed_sans needs");
	wrong(TLS "  min_version: TLS13\n  max_version: TLS12\n", "min_version is above");
	wrong(TLS "  min_version: SSL30\n", "min_version: expected");
	wrong(TLS "  curve_preferences: [CurveP256, X448]\n", "unknown curve X448");
	wrong(SUITES "[TLS_RSA_WITH_RC4_128_SHA]\n", "unknown suite TLS_RSA_WITH_RC4_128_SHA");
	wrong(TLS "  prefer_server_cipher_suites: maybe\n", "true or false");
	/* headers */
	wrong("http_server_config:\n  headers:\n    Server: x\n",
	      "headers.Server: this header cannot be set");
	wrong("http_server_config:\n  headers:\n    X-Frame-Options: allow\n",
	      "deny or sameorigin");
	wrong("http_server_config:\n  headers:\n    X-Content-Type-Options: sniff\n", "nosniff");
	wrong("http_server_config:\n  headers:\n    X-XSS-Protection: \"0\\r\\nX: y\"\n",
	      "one line");
	/* no YAML */
	wrong("basic_auth_users: {\n", "web.yml:");
	wrong("prom\n", "expected keys with values");
}

static void suites(void **state)
{
	struct web_config *c;
	gnutls_priority_t priority;

	(void)state;
	assert_int_equal(
		config_of(&c, SUITES
			  "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384]\n"),
		-EINVAL); /* AES-256 with ECDHE and TLS 1.2 was not listed */
	assert_non_null(strstr(captured, "would also allow TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"));
	assert_int_equal(config_of(&c, SUITES "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "
					      "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\n"),
			 -EINVAL);
	assert_int_equal(config_of(&c, SUITES "[TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, "
					      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n"),
			 0);
	assert_string_equal(
		c->priority,
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:-MAC-ALL:-KX-ALL"
		":+AES-256-CBC:+SHA1:+ECDHE-RSA:+AES-128-GCM:+AEAD:%SERVER_PRECEDENCE");
	assert_int_equal(gnutls_priority_init(&priority, c->priority, NULL), 0);
	gnutls_priority_deinit(priority);
	web_config_free(c);
	/* Suites of TLS 1.3 alone: there is no other version then. */
	assert_int_equal(config_of(&c, SUITES "[TLS_CHACHA20_POLY1305_SHA256]\n"), 0);
	assert_null(strstr(c->priority, "TLS1.2"));
	assert_int_equal(gnutls_priority_init(&priority, c->priority, NULL), 0);
	gnutls_priority_deinit(priority);
	web_config_free(c);
	wrong(SUITES "[TLS_CHACHA20_POLY1305_SHA256]\n  max_version: TLS12\n",
	      "no suite can be used with max_version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),
		cmocka_unit_test(little),
		cmocka_unit_test(refused),
		cmocka_unit_test(suites),
	};

	return cmocka_run_group_tests_name("web_config", tests, setup, teardown);
}
