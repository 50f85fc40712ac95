/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - one frame of the live view with a chosen rank; live_frame() is this with frame_first().
 * Pure. */
#ifndef VIEW_FRAME_H
#define VIEW_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

struct frame_options {
	int cols, rows;
	uint32_t selected; /* index into the snapshot's ranks; too large: the last */
	bool color;
	const char *log; /* may be NULL */
};

/* The process that is shown while nobody has chosen one: the first that trains and lives, else the
 * last to live. */
uint32_t frame_first(const struct snapshot *s);
void frame_draw(struct buffer *out, const struct snapshot *s, const struct frame_options *o);

#endif
