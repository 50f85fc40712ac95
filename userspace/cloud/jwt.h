/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.h - signed claims of a service account (RFC 7519, RS256 of RFC 7518; the flow is RFC 7523's).
 * Pure. */
#ifndef CLOUD_JWT_H
#define CLOUD_JWT_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

#define JWT_LIFE_S 3600 /* the longest that Google takes */

struct jwt_claims {
	const char *issuer, *scope, *audience;
	const char *key_id; /* NULL: not given */
	int64_t issued_s;   /* UTC; ends JWT_LIFE_S later */
};

/* "HEADER.CLAIMS.SIGNATURE" behind what out holds. pem: an RSA key of 2048 bits or more, without
 * passphrase. 0; -EINVAL: the key is none such; -ENOMEM. */
int jwt_sign(struct buffer *out, const struct jwt_claims *claims, const char *pem);
/* base64url, without padding. */
void jwt_base64(struct buffer *out, const void *data, size_t len);

#endif
