/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - whole frames on a terminal that is ours meanwhile: alternate screen, raw keys, size.
 */
#ifndef VIEW_TERMINAL_H
#define VIEW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/base/buffer.h"

struct terminal;
/* -ENOTTY after one line: out_fd is none. Without one at in_fd there are no keys. */
int terminal_open(struct terminal **ret, int in_fd, int out_fd);
void terminal_close(struct terminal *t); /* restores it; NULL is fine */

int terminal_cols(const struct terminal *t);
int terminal_rows(const struct terminal *t);
bool terminal_color(const struct terminal *t);
/* A frame: lines, each ended by a line feed. One write(2); unchanged lines are not written. A
 * terminal that takes nothing is not waited for. */
void terminal_draw(struct terminal *t, const struct buffer *frame);
void terminal_resize(struct terminal *t); /* asks for the size, and clears: a frame is to follow */
/* Keys that were pressed, as bytes. 0: none. Never blocks. ^C stays a signal. */
size_t terminal_read(struct terminal *t, unsigned char *out, size_t len);

/* Colours are wanted where the terminal has them: NO_COLOR, TERM. */
bool terminal_wants_color(void);

#endif
