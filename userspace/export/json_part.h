/* SPDX-License-Identifier: Apache-2.0 */
/* json_part.h - members of JSON objects that several outputs share: time by bucket, a loop, losses.
 * Each function appends members to an open object. Pure. */
#ifndef EXPORT_JSON_PART_H
#define EXPORT_JSON_PART_H

#include <stdbool.h>

#include "userspace/base/buffer.h"
#include "userspace/model/snapshot.h"

/* Appends elapsed_ns, excluded_ns, buckets and unsettled_ns. */
void json_part_time(struct buffer *out, const struct ledger_view *l,
		    const struct type_names *types);
/* Appends observed_ns and goodput_ratio, which is null if nothing was observed, or trains is
 * false. */
void json_part_ratio(struct buffer *out, const struct ledger_view *l, bool trains);
/* Appends productive_gross_ns, steps, max_productive_step, late_ns, merged and disruptions. */
void json_part_counts(struct buffer *out, const struct ledger_view *l);
/* Converts a window to a ledger with the window's times, but without counts. */
void json_part_window_ledger(const struct window_view *w, struct ledger_view *ret);
/* Appends how the steps of a loop are found, and the number of steps. */
void json_part_loop(struct buffer *out, const struct step_state *st);
/* Appends the time of steps by phase; only known phases. */
void json_part_phases(struct buffer *out, uint32_t known, const uint64_t ns[PHASE_COUNT],
		      bool device_known, uint64_t host_ns);
/* Appends an object with this key, about an examination: what the thread waited for, which
 * processes ran instead of it, and the block devices. */
void json_part_examination(struct buffer *out, const char *key, const struct examination *e);
/* Appends "causes": the causes of a slowdown, with the time that each explains in each step, its
 * share of the lost time, and its line of Python. */
void json_part_causes(struct buffer *out, const struct time_causes *l);
/* Appends the members "losses" (lost data by cause) and "noted" (drops that lost no data). */
void json_part_losses(struct buffer *out, const struct snapshot *s);

#endif
