/* SPDX-License-Identifier: Apache-2.0 */
/* json_part.h - members of JSON objects that several outputs have: time by bucket, a loop, losses.
 * Each appends members to an object that is open. Pure. */
#ifndef EXPORT_JSON_PART_H
#define EXPORT_JSON_PART_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* elapsed_ns, excluded_ns, buckets, unsettled_ns. */
void json_part_time(struct buffer *out, const struct ledger_view *l,
		    const struct type_names *types);
/* observed_ns, goodput_ratio: null if nothing was observed, or trains is false. */
void json_part_ratio(struct buffer *out, const struct ledger_view *l, bool trains);
/* productive_gross_ns, steps, max_productive_step, late_ns, merged, disruptions. */
void json_part_counts(struct buffer *out, const struct ledger_view *l);
/* Converts a window to a ledger that has its time, but no counts. */
void json_part_window_ledger(const struct window_view *w, struct ledger_view *ret);
/* How the steps of a loop are found, and their number. */
void json_part_loop(struct buffer *out, const struct step_state *st);
/* The phases of steps: time by phase, those that are known. */
void json_part_phases(struct buffer *out, uint32_t known, const uint64_t ns[PHASE_COUNT],
		      bool device_known, uint64_t host_ns);
/* losses: lost data by cause. noted: losses within bounds, or of other records. */
void json_part_losses(struct buffer *out, const struct snapshot *s);

#endif
