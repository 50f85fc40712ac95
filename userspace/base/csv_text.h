/* SPDX-License-Identifier: Apache-2.0 */
/* csv_text.h - appends rows of a CSV file (RFC 4180) to a buffer, cell by cell; commas are added
 * automatically. The first cell of a row must not be empty; the buffer must be empty or end with a
 * complete row when a row begins. Texts may contain any bytes: control characters and invalid UTF-8
 * become '?', so that a row is one line. A text that begins with = + - @ or a space gets a ' in
 * front, because spreadsheets would treat it as a formula. */
#ifndef BASE_CSV_TEXT_H
#define BASE_CSV_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

void csv_text(struct buffer *b, const char *text); /* NULL: empty */
void csv_uint(struct buffer *b, uint64_t value);
void csv_int(struct buffer *b, int64_t value);
void csv_real(struct buffer *b, double value); /* an empty cell if value is not finite */
void csv_bool(struct buffer *b, bool value);   /* true, false */
void csv_none(struct buffer *b);
/* Appends an empty cell if value is 0. */
void csv_nonzero(struct buffer *b, uint64_t value);
/* Appends value if known is true, else an empty cell. */
void csv_int_if(struct buffer *b, bool known, int64_t value);
/* csv_object_part() adds a member to a JSON object. csv_object() appends the object as one cell
 * (empty if it has no members) and frees it. */
void csv_object_part(struct buffer *object, const char *name, uint64_t value);
void csv_object(struct buffer *b, struct buffer *object);
/* Appends a time as RFC 3339; an empty cell if real_ns is 0. */
void csv_time(struct buffer *b, int64_t real_ns);
void csv_row(struct buffer *b); /* ends the row */

#endif
