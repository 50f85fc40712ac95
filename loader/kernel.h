/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - the kernel side, loaded: programs by shape, the maps that are shared memory, and the
 * programs that follow process life. What it opens it owns; nothing is pinned. */
#ifndef LOADER_KERNEL_H
#define LOADER_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "bpf/gp_private.h"
#include "loader/attach.h"

/* In the order in which they must be attached: ends before their begins and returns before their
 * entries, so that nothing opens that cannot close. */
enum kernel_program {
	KERNEL_RANGE_END,
	KERNEL_COUNT,
	KERNEL_HIT,
	KERNEL_NAMED,
	KERNEL_LEAVE,
	KERNEL_ENTER,
	KERNEL_RANGE_BEGIN,
	KERNEL_EMPTY, /* for measuring */
	KERNEL_PROGRAMS
};

struct kernel {
	const struct bpf_program *program[KERNEL_PROGRAMS];
	const struct bpf_program *vmas; /* NULL: no task_vma */
	struct gp_row *rows;		/* GP_ROWS_MAX, shared with the kernel */
	uint64_t *return_rows;		/* GP_RETURN_ROWS_MAX */
	uint64_t *slot_owner;		/* GP_SLOTS: pid */
	uint64_t *watched_fast;		/* GP_FAST_MAX */
	const uint64_t *counters;	/* GP_LANES * GP_LANE_COUNTERS */
	const uint64_t *losses;		/* GP_LOSS_CAUSE_COUNT */
	int watched_fd, free_slots_fd;
	int rates_fd, names_fd;
	int ring_call_fd, ring_life_fd;
	size_t ring_call_bytes, ring_life_bytes;
	struct kernel_objects *objects; /* private */
};

/* Sizes: 0 is the default. 0 or -errno, after a line that says why. The links that follow process life
 * go to links: all that are open close together. */
int kernel_open(struct kernel *ret, struct attach *links, size_t ring_call_bytes, size_t ring_life_bytes);
void kernel_close(struct kernel *k);

#endif
