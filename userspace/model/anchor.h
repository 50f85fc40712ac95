/* SPDX-License-Identifier: Apache-2.0 */
/* anchor.h - wall time of an instant of CLOCK_MONOTONIC, from the anchors among the events. Pure.
 */
#ifndef MODEL_ANCHOR_H
#define MODEL_ANCHOR_H

#include <stdint.h>

#include "userspace/base/archive.h"

#define ANCHORS 16 /* last ones; facts are never older than they reach */

struct anchors {
	struct {
		uint64_t mono_ns;
		int64_t real_ns;
	} at[ANCHORS];
	uint64_t count; /* ever */
};

void anchors_add(struct anchors *a, uint64_t mono_ns, int64_t real_ns);
/* By the latest anchor at or before mono_ns, the oldest one kept when there is none; 0: no anchor
 * yet. */
int64_t anchors_real(const struct anchors *a, uint64_t mono_ns);
void anchors_archive(struct archive *a, struct anchors *as);

#endif
