/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - draws one frame of the live view with a selected rank. Pure. */
#ifndef VIEW_FRAME_H
#define VIEW_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

struct frame_options {
	int cols, rows;
	/* index into the snapshot's ranks; if too large, the last rank is selected */
	uint32_t selected;
	bool color;
	const char *log; /* may be NULL */
};

/* Returns the rank selected by default: the first living process that trains, otherwise the last
 * living one. */
uint32_t frame_first(const struct snapshot *s);
void frame_draw(struct buffer *out, const struct snapshot *s, const struct frame_options *o);

#endif
