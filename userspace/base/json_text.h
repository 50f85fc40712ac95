/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - appends JSON to a buffer, value by value; commas are added automatically. key NULL:
 * the value is an element of an array, or the outermost value. Strings may contain any bytes:
 * invalid UTF-8 becomes U+FFFD, and characters that must not reach a terminal (utf8_columns()) are
 * escaped. Integers are written in full, doubles with nine digits, or as null if they are not
 * finite. */
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
/* Writes all digits that are needed to read back the same double; null if it is not finite. */
void json_double(struct buffer *b, const char *key, double value);
/* writes us microseconds as seconds with six decimals, which is exact */
void json_seconds(struct buffer *b, const char *key, int64_t us);
void json_string(struct buffer *b, const char *key, const char *text); /* NULL: null */
/* writes null if text is NULL or empty */
void json_known(struct buffer *b, const char *key, const char *text);
/* writes null if value is 0 */
void json_nonzero(struct buffer *b, const char *key, uint64_t value);
/* writes null if known is false */
void json_uint_if(struct buffer *b, const char *key, bool known, uint64_t value);
void json_int_if(struct buffer *b, const char *key, bool known, int64_t value);
/* writes a time as RFC 3339; null if real_ns is 0 */
void json_time(struct buffer *b, const char *key, int64_t real_ns);

#endif
