/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - shows whole frames on a terminal: alternate screen (from the first frame), raw keys,
 * size. Only one terminal at a time can be open, because it is restored if the process crashes. */
#ifndef VIEW_TERMINAL_H
#define VIEW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

struct terminal;
/* Returns 0; -ENOTTY after logging one line: out_fd is not a terminal that understands escape
 * sequences. Keys are read only if in_fd is a terminal. */
int terminal_open(struct terminal **ret, int in_fd, int out_fd);
/* Restores the terminal, and writes the lines logged since the first frame. Waits at most half a
 * second for a terminal that does not read. t may be NULL. */
void terminal_close(struct terminal *t);

int terminal_cols(const struct terminal *t);
int terminal_rows(const struct terminal *t);
bool terminal_color(const struct terminal *t);
/* Draws a frame of lines that each end in a line feed, with one write(2); unchanged lines are not
 * written. Does not wait for a terminal that does not read. */
void terminal_draw(struct terminal *t, const struct buffer *frame);
/* Asks for the terminal's size; the next frame is drawn completely. */
void terminal_resize(struct terminal *t);
/* Reads the pressed keys as bytes; returns their number, 0: none. Never blocks. ^C remains a
 * signal. */
size_t terminal_read(struct terminal *t, unsigned char *out, size_t len);

#endif
