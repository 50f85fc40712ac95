/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - shows whole frames on a terminal: alternate screen (from the first frame), raw keys,
 * size. Only one at a time, because it is restored if the process crashes. */
#ifndef VIEW_TERMINAL_H
#define VIEW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

struct terminal;
/* Returns 0; -ENOTTY after one line: out_fd is not a terminal that understands escape sequences.
 * There are no keys if in_fd is not a terminal. */
int terminal_open(struct terminal **ret, int in_fd, int out_fd);
/* Restores the terminal, and writes what was logged since the first frame; NULL is fine. Waits at
 * most half a second for a terminal that does not read. */
void terminal_close(struct terminal *t);

int terminal_cols(const struct terminal *t);
int terminal_rows(const struct terminal *t);
bool terminal_color(const struct terminal *t);
/* Draws a frame: lines, each ended by a line feed. One write(2); unchanged lines are not written.
 * Does not wait for a terminal that does not read. */
void terminal_draw(struct terminal *t, const struct buffer *frame);
void terminal_resize(
	struct terminal *t); /* asks for the size; the next frame is drawn completely */
/* Reads the pressed keys as bytes. 0: none. Never blocks. ^C remains a signal. */
size_t terminal_read(struct terminal *t, unsigned char *out, size_t len);

#endif
