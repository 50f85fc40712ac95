/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - appends JSON to a buffer, one value after the other; commas are added
 * automatically. key NULL: an element of an array, or the outermost value. Strings may contain any
 * bytes: invalid UTF-8 becomes U+FFFD, characters that must not reach a terminal (utf8_columns())
 * are escaped. Numbers are printed the same everywhere: integers in full, doubles with nine digits,
 * null if a double is not finite. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

void json_open(struct buffer *b, const char *key, char bracket); /* '{' or '[' */
void json_close(struct buffer *b, char bracket);		 /* '}' or ']' */
void json_null(struct buffer *b, const char *key);
void json_bool(struct buffer *b, const char *key, bool value);
void json_uint(struct buffer *b, const char *key, uint64_t value);
void json_int(struct buffer *b, const char *key, int64_t value);
void json_real(struct buffer *b, const char *key, double value);
/* with as many digits as restore the same double; null if not finite */
void json_double(struct buffer *b, const char *key, double value);
/* converts microseconds to seconds, exactly, with six decimals */
void json_seconds(struct buffer *b, const char *key, int64_t us);
void json_string(struct buffer *b, const char *key, const char *text); /* NULL: null */
/* null when text is NULL or empty */
void json_known(struct buffer *b, const char *key, const char *text);
/* null when value is 0 */
void json_nonzero(struct buffer *b, const char *key, uint64_t value);
/* null unless known */
void json_uint_if(struct buffer *b, const char *key, bool known, uint64_t value);
void json_int_if(struct buffer *b, const char *key, bool known, int64_t value);
/* RFC 3339; null when real_ns is 0 */
void json_time(struct buffer *b, const char *key, int64_t real_ns);

#endif
