/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - draws one frame of the live view, with details of the selected rank. Pure. */
#ifndef VIEW_FRAME_H
#define VIEW_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

struct frame_options {
	int cols, rows;
	/* index of the selected rank in the snapshot; a larger index selects the last rank */
	uint32_t selected;
	bool color;
	const char *log; /* the last line that was logged, shown at the bottom; NULL: none */
};

/* Returns the rank to select at the start: the first living process that trains, or else the last
 * living process. */
uint32_t frame_first(const struct snapshot *s);
void frame_draw(struct buffer *out, const struct snapshot *s, const struct frame_options *o);

#endif
