/* SPDX-License-Identifier: Apache-2.0 */
/* csv_text.h - writes rows of RFC 4180 onto a buffer, one cell after the other; commas come by
 * themselves.
 *
 * The first cell of a row is never empty, the buffer is empty or ends with a row when it begins.
 * Text may hold any bytes: control characters and what is not UTF-8 become '?', so that a row is
 * one line; before a text that begins with = + - @ or a space stands a ' (programs that calculate
 * would take it for a formula). */
#ifndef BASE_CSV_TEXT_H
#define BASE_CSV_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

void csv_text(struct buffer *b, const char *text); /* NULL: empty */
void csv_uint(struct buffer *b, uint64_t value);
void csv_int(struct buffer *b, int64_t value);
void csv_real(struct buffer *b, double value); /* empty when it is not finite */
void csv_bool(struct buffer *b, bool value);   /* true, false */
void csv_none(struct buffer *b);
/* Empty when value is 0. */
void csv_nonzero(struct buffer *b, uint64_t value);
/* RFC 3339; empty when real_ns is 0. */
void csv_time(struct buffer *b, int64_t real_ns);
void csv_row(struct buffer *b); /* ends it */

#endif
