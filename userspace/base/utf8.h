/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - decodes UTF-8 and gives the columns that characters take on a terminal, without
 * locales. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the UTF-8 character at s (Unicode 15, table 3-7). Returns its length in bytes; 0:
 * invalid. */
size_t utf8_decode(const char *s, size_t len, uint32_t *ret_c);
/* Returns how many columns of a terminal a character takes: 0 (combining), 1 or 2 (East Asian wide,
 * emoji). -1: the character must not reach a terminal (controls, C1, marks that change text
 * direction or break lines). */
int utf8_columns(uint32_t c);

#endif
