/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/jwt.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "userspace/base/json_text.h"

#define JWT_KEY_BITS_MIN 2048
/* larger keys are refused; a signature with a key of this size takes a second */
#define JWT_KEY_BITS_MAX 16384

void jwt_base64(struct buffer *out, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const unsigned char *in = data;
	uint32_t bits;
	char text[4];
	size_t n;

	for (; len; in += n, len -= n) {
		n = len < 3 ? len : 3;
		bits = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) |
		       (n > 2 ? in[2] : 0);
		for (unsigned i = 0; i < 4; i++)
			text[i] = digits[bits >> (18 - 6 * i) & 63];
		buffer_add(out, text, n + 1);
	}
}

/* OpenSSL calls this for a passphrase. Gives none, so that keys with a passphrase are refused:
 * there may be no terminal to ask for it. */
static int jwt_no_passphrase(char *buf, int size, int writing, void *ctx)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

static EVP_PKEY *jwt_key(const char *pem)
{
	size_t len = strlen(pem);
	BIO *bio = len <= INT_MAX ? BIO_new_mem_buf(pem, (int)len) : NULL;
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, jwt_no_passphrase, NULL) : NULL;

	BIO_free(bio);
	if (key && (!EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_get_bits(key) < JWT_KEY_BITS_MIN ||
		    EVP_PKEY_get_bits(key) > JWT_KEY_BITS_MAX)) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	return key;
}

static int jwt_signature(struct buffer *out, size_t from, EVP_PKEY *key)
{
	unsigned char *signature = malloc((size_t)EVP_PKEY_get_size(key));
	size_t len = (size_t)EVP_PKEY_get_size(key);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int err = -ENOMEM;

	if (!signature || !md || out->failed)
		goto end;
	err = -EINVAL;
	if (EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(md, signature, &len, (const unsigned char *)out->data + from,
			   out->len - from) != 1)
		goto end;
	buffer_add(out, ".", 1);
	jwt_base64(out, signature, len);
	err = out->failed ? -ENOMEM : 0;
end:
	EVP_MD_CTX_free(md);
	free(signature);
	return err;
}

static void jwt_text(struct buffer *out, const struct jwt_claims *claims)
{
	struct buffer json = {0};

	json_open(&json, NULL, '{');
	json_string(&json, "alg", "RS256");
	json_string(&json, "typ", "JWT");
	if (claims->key_id)
		json_string(&json, "kid", claims->key_id);
	json_close(&json, '}');
	jwt_base64(out, json.data, json.len);
	buffer_add(out, ".", 1);
	buffer_clear(&json);
	json_open(&json, NULL, '{');
	json_string(&json, "iss", claims->issuer);
	json_string(&json, "scope", claims->scope);
	json_string(&json, "aud", claims->audience);
	json_int(&json, "iat", claims->issued_s);
	json_int(&json, "exp", claims->issued_s + JWT_LIFE_S);
	json_close(&json, '}');
	jwt_base64(out, json.data, json.len);
	out->failed = out->failed || json.failed;
	buffer_free(&json);
}

int jwt_sign(struct buffer *out, const struct jwt_claims *claims, const char *pem)
{
	EVP_PKEY *key = jwt_key(pem);
	size_t from = out->len;
	int err = -EINVAL;

	if (key) {
		jwt_text(out, claims);
		err = jwt_signature(out, from, key);
	}
	EVP_PKEY_free(key);
	/* Clear OpenSSL's error queue: other users of OpenSSL in this thread must not find errors
	 * of this function. */
	ERR_clear_error();
	return err;
}
