/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h - signs the claims with which a service account requests a token (RFC 7519, RS256 of RFC
 * 7518; used as in RFC 7523). Pure. */
#ifndef CLOUD_JWT_H
#define CLOUD_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define JWT_LIFE_S 3600 /* lifetime of the claims in seconds, the longest that Google accepts */

struct jwt_claims {
	const char *issuer, *scope, *audience;
	const char *key_id; /* id of the private key; NULL: none */
	/* when the lifetime begins, seconds since the epoch; it ends JWT_LIFE_S later */
	int64_t issued_s;
};

/* Appends "HEADER.CLAIMS.SIGNATURE" to out. pem: a private RSA key of at least 2048 bits, without a
 * passphrase. Returns 0; -EINVAL: the key is invalid or of another kind; -ENOMEM. */
int jwt_sign(struct buffer *out, const struct jwt_claims *claims, const char *pem);
/* Appends data as base64url, without padding. */
void jwt_base64(struct buffer *out, const void *data, size_t len);

#endif
