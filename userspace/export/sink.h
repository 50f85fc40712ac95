/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - lines to a file, a pipe or a terminal. A reader of a pipe that stops reading fills a bounded
 * backlog, then costs whole lines, counted; it never holds up the caller for more than a second. */
#ifndef EXPORT_SINK_H
#define EXPORT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "userspace/base/buffer.h"

struct sink;
/* path "-": standard output. Else a file, created 0644, emptied. -errno after one line. */
int sink_open(struct sink **ret, const char *path);
/* The same, behind what the file holds. */
int sink_open_append(struct sink **ret, const char *path);
/* The buffer to append to. After each whole line: sink_line(). */
struct buffer *sink_buffer(struct sink *s);
void sink_line(struct sink *s);
/* Hands what is there to the reader, as much as it takes now. */
void sink_flush(struct sink *s);
/* 0, or -errno when lines were lost (said once, in the log). Frees s. */
int sink_close(struct sink *s);

#endif
