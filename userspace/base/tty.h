/* SPDX-License-Identifier: Apache-2.0 */
/* tty.h - what the terminal of a descriptor supports: escape sequences, colours, its width. */
#ifndef BASE_TTY_H
#define BASE_TTY_H

#include <stdbool.h>

/* Returns true if fd is a terminal that understands escape sequences: TERM is set and is not
 * "dumb". */
bool tty_escapes(int fd);
/* Returns true if colours may be used: tty_escapes(), and NO_COLOR is not set. */
bool tty_color(int fd);
/* Returns the columns of the terminal; 0: fd is not a terminal, or its width is unknown. */
int tty_cols(int fd);

#endif
