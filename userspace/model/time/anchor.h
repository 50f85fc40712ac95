/* SPDX-License-Identifier: Apache-2.0 */
/* anchor.h - converts CLOCK_MONOTONIC to wall time. An anchor is a reading of both clocks at the
 * same instant, from a clock record. Pure. */
#ifndef MODEL_ANCHOR_H
#define MODEL_ANCHOR_H

#include <stdint.h>

#include "userspace/base/archive.h"

/* Number of anchors kept, the newest ones. A fact is sent so soon after its time that an anchor for
 * this time is still kept. */
#define ANCHORS 16

struct anchors {
	struct {
		uint64_t mono_ns;
		int64_t real_ns;
	} at[ANCHORS];
	uint64_t count; /* number of anchors added so far */
};

/* Adds an anchor: both clocks read at the same instant (UTC ns). */
void anchors_add(struct anchors *a, uint64_t mono_ns, int64_t real_ns);
/* Returns the UTC time (ns) of mono_ns, computed from the latest anchor at or before it, or the
 * oldest one kept. 0: no anchor yet. */
int64_t anchors_real(const struct anchors *a, uint64_t mono_ns);
void anchors_archive(struct archive *a, struct anchors *as);

#endif
