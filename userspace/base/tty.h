/* SPDX-License-Identifier: Apache-2.0 */
/* tty.h - what a descriptor's terminal supports: escape sequences, colours, its width. */
#ifndef BASE_TTY_H
#define BASE_TTY_H

#include <stdbool.h>

/* Whether fd is a terminal that understands escape sequences: TERM is set and is not "dumb". */
bool tty_escapes(int fd);
/* Whether to use colours: as tty_escapes(), and NO_COLOR is not set. */
bool tty_color(int fd);
/* Columns of the terminal; 0: fd is not a terminal, or its width is unknown. */
int tty_cols(int fd);

#endif
