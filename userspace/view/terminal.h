/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - whole frames on a terminal that is ours meanwhile: alternate screen (from the first
 * frame on), raw keys, size. One at a time: a process that crashes restores it. */
#ifndef VIEW_TERMINAL_H
#define VIEW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

struct terminal;
/* -ENOTTY after one line: out_fd is not a terminal that understands escape sequences. Without a
 * terminal at in_fd there are no keys. */
int terminal_open(struct terminal **ret, int in_fd, int out_fd);
/* Restores it, and writes what was logged since the first frame; NULL is fine. Waits half a second,
 * and no longer, for a terminal that takes nothing. */
void terminal_close(struct terminal *t);

int terminal_cols(const struct terminal *t);
int terminal_rows(const struct terminal *t);
bool terminal_color(const struct terminal *t);
/* A frame: lines, each ended by a line feed. One write(2); unchanged lines are not written. A
 * terminal that takes nothing is not waited for. */
void terminal_draw(struct terminal *t, const struct buffer *frame);
void terminal_resize(struct terminal *t); /* asks for the size; the next frame clears */
/* Keys that were pressed, as bytes. 0: none. Never blocks. ^C stays a signal. */
size_t terminal_read(struct terminal *t, unsigned char *out, size_t len);

#endif
