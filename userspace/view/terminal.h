/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - shows whole frames on a terminal, and reads keys. It uses the alternate screen,
 * beginning with the first frame. Only one terminal can be open at a time, because a crash handler
 * restores it. */
#ifndef VIEW_TERMINAL_H
#define VIEW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

struct terminal;
/* Returns 0, or -ENOTTY after logging one line: out_fd is not a terminal with escape sequences.
 * Keys are only read if in_fd is a terminal. */
int terminal_open(struct terminal **ret, int in_fd, int out_fd);
/* Restores the terminal, and writes the lines that were logged since the first frame. Waits at most
 * 0.5 s if the terminal accepts no output. t may be NULL. */
void terminal_close(struct terminal *t);

int terminal_cols(const struct terminal *t);
int terminal_rows(const struct terminal *t);
bool terminal_color(const struct terminal *t);
/* Draws a frame, each of whose lines ends in a line feed, with one write(2). Lines that did not
 * change are not written. Does nothing if the terminal accepts no output. */
void terminal_draw(struct terminal *t, const struct buffer *frame);
/* Reads the terminal's size again, and makes the next frame a complete one. */
void terminal_resize(struct terminal *t);
/* Reads the pressed keys as bytes. Returns their number; 0: none. Never blocks. ^C is not a key,
 * but remains a signal. */
size_t terminal_read(struct terminal *t, unsigned char *out, size_t len);

#endif
