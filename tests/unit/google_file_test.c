/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "tests/unit/google_stand.h"
#include "userspace/cloud/jwt.h"

/* ---- files */

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(stand_in_path(&s, name), "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define ACCOUNT                                                                                    \
	"{\"type\":\"service_account\",\"client_email\":\"a@b.example\",\"private_key\":\"SECRET\""
#define USER "{\"type\":\"authorized_user\",\"client_id\":\"SECRET\",\"client_secret\":\"SECRET\""

static void broken_files(void **state)
{
	static const struct {
		const char *content, *text;
	} rows[] = {
		{"", "not a JSON object"},
		{"SECRET", "not a JSON object"},
		{"[\"SECRET\"]", "not a JSON object"},
		{ACCOUNT, "not a JSON object"},
		{"{}", "no valid type"},
		{"{\"type\":5}", "no valid type"},
		{"{\"type\":\"SECRET\"}", "unknown type"},
		{"{\"type\":\"external_account\"}", "type external_account is not supported"},
		{"{\"type\":\"impersonated_service_account\"}",
		 "impersonated_service_account is not supported"},
		{"{\"type\":\"service_account\"}", "no valid client_email"},
		{"{\"type\":\"service_account\",\"client_email\":\"a b\\nSECRET\"}",
		 "no valid client_email"},
		{"{\"type\":\"service_account\",\"client_email\":\"a@b\"}", "no valid private_key"},
		{ACCOUNT "}", "private_key must be an RSA key"},
		{ACCOUNT ",\"token_uri\":\"http://example.com/SECRET\"}",
		 "token_uri is not an https:// address"},
		{ACCOUNT ",\"token_uri\":\"http://127.0.0.1:80@example.com/\"}",
		 "token_uri is not an https:// address"},
		{ACCOUNT ",\"token_uri\":5}", "token_uri is not an https:// address"},
		{ACCOUNT ",\"token_uri\":\"https://x/\\r\\nSECRET\"}",
		 "token_uri is not an https:// address"},
		{ACCOUNT ",\"universe_domain\":\"SECRET\"}",
		 "universe_domain is not googleapis.com"},
		{USER "}", "no valid refresh_token"},
	};

	(void)state;
	use("broken.json");
	assert_int_equal(token(), -EACCES);
	says("broken.json: no such file (GOOGLE_APPLICATION_CREDENTIALS)");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file("broken.json", rows[i].content);
		assert_int_equal(token(), -EACCES);
		says("broken.json: ");
		says(rows[i].text);
		assert_null(strstr(why, "SECRET"));
	}
}

static void other_files(void **state)
{
	char *text = malloc(70000);

	(void)state;
	use("");
	assert_int_equal(token(), -EACCES);
	says("not a regular file");
	assert_int_equal(mkfifo(stand_in_path(&s, "pipe"), 0600), 0);
	use("pipe");
	assert_int_equal(token(), -EACCES);
	says("not a regular file");
	memset(text, ' ', 69999);
	text[69999] = '\0';
	write_file("long.json", text);
	use("long.json");
	assert_int_equal(token(), -EACCES);
	says("too long");
	free(text);
	use("account.json/x");
	assert_int_equal(token(), -EACCES);
	says("no such file");
}

/* ---- claims */

static void base64(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {{"", ""},
		    {"f", "Zg"},
		    {"fo", "Zm8"},
		    {"foo", "Zm9v"},
		    {"foob", "Zm9vYg"},
		    {"\xfb\xff\xfe", "-__-"},
		    {"fooba", "Zm9vYmE"}};
	struct buffer b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_clear(&b);
		buffer_add(&b, "", 0);
		jwt_base64(&b, rows[i].in, strlen(rows[i].in));
		assert_string_equal(b.data, rows[i].out);
	}
	buffer_free(&b);
}

/* A key of a kind, in PEM. */
static char *pem_of(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *data, *out;
	long len;

	assert_non_null(key);
	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	len = BIO_get_mem_data(bio, &data);
	out = strndup(data, (size_t)len);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return out;
}

/* An RSA key that signs in another way. */
static EVP_PKEY *pss_key(void)
{
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "RSA-PSS", NULL);
	EVP_PKEY *key = NULL;

	assert_int_equal(EVP_PKEY_keygen_init(c), 1);
	assert_int_equal(EVP_PKEY_generate(c, &key), 1);
	EVP_PKEY_CTX_free(c);
	return key;
}

static void claims(void **state)
{
	/* {"alg":"RS256","typ":"JWT","kid":"k\"1"} and its claims, by Python's
	 * base64.urlsafe_b64encode */
	static const char text[] =
		"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImtcIjEifQ."
		"eyJpc3MiOiJhQGIiLCJzY29wZSI6InMiLCJhdWQiOiJodHRwczovL3gvIiwiaWF0IjoxNzAwM"
		"DAwMDAwLCJleHAiOjE3MDAwMDM2MDB9.";
	struct jwt_claims c = {.issuer = "a@b",
			       .scope = "s",
			       .audience = "https://x/",
			       .key_id = "k\"1",
			       .issued_s = 1700000000};
	char *pem = pem_of(EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048));
	struct buffer b = {0};

	(void)state;
	buffer_printf(&b, "before");
	assert_int_equal(jwt_sign(&b, &c, pem), 0);
	assert_int_equal(strncmp(b.data, "before", 6), 0);
	assert_int_equal(strncmp(b.data + 6, text, strlen(text)), 0);
	assert_int_equal(strlen(b.data + 6 + strlen(text)), 342); /* 256 bytes */
	assert_null(strpbrk(b.data, "+/="));
	buffer_free(&b);
	free(pem);
}

static void keys_that_do_not_fit(void **state)
{
	struct jwt_claims c = {.issuer = "a@b", .scope = GOOGLE_SCOPE, .audience = "https://x/"};
	char *ec = pem_of(EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"));
	char *small = pem_of(EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024));
	char *pss = pem_of(pss_key());
	static const char locked[] =
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n";
	struct buffer b = {0};

	(void)state;
	assert_int_equal(jwt_sign(&b, &c, ec), -EINVAL);
	assert_int_equal(jwt_sign(&b, &c, small), -EINVAL);
	assert_int_equal(jwt_sign(&b, &c, pss), -EINVAL);
	assert_int_equal(jwt_sign(&b, &c, locked), -EINVAL);
	assert_int_equal(jwt_sign(&b, &c, ""), -EINVAL);
	assert_int_equal(b.len, 0);
	free(ec);
	free(small);
	free(pss);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(broken_files, setup, teardown),
		cmocka_unit_test_setup_teardown(other_files, setup, teardown),
		cmocka_unit_test(base64),
		cmocka_unit_test(claims),
		cmocka_unit_test(keys_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
