/* SPDX-License-Identifier: Apache-2.0 */
/* tty.h - what may be written to a descriptor: escape sequences, colours, lines of which width. */
#ifndef BASE_TTY_H
#define BASE_TTY_H

#include <stdbool.h>

/* A terminal that understands escape sequences: TERM is set, and is not "dumb". */
bool tty_escapes(int fd);
/* The same, and the user has not set NO_COLOR. */
bool tty_color(int fd);
/* Columns of the terminal; 0: fd is not a terminal, or its width is unknown. */
int tty_cols(int fd);

#endif
