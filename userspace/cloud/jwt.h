/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h - signed claims of a service account (RFC 7519, RS256 of RFC 7518; the flow is RFC 7523's).
 * Pure. */
#ifndef CLOUD_JWT_H
#define CLOUD_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define JWT_LIFE_S 3600 /* lifetime of the claims, the longest that Google accepts */

struct jwt_claims {
	const char *issuer, *scope, *audience;
	const char *key_id; /* id of the key; NULL: none */
	int64_t issued_s;   /* begin of the lifetime, UTC; it ends JWT_LIFE_S later */
};

/* Appends "HEADER.CLAIMS.SIGNATURE" to out. pem: an RSA key of at least 2048 bits, without
 * passphrase. Returns 0; -EINVAL: not such a key; -ENOMEM. */
int jwt_sign(struct buffer *out, const struct jwt_claims *claims, const char *pem);
/* Appends data as base64url, without padding. */
void jwt_base64(struct buffer *out, const void *data, size_t len);

#endif
