/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - the kernel side, loaded: programs by shape, the maps that are shared memory, and the
 * programs that follow process life. What it opens it owns; with pins, maps and links also have
 * names and are found again by a successor. */
#ifndef LOADER_KERNEL_H
#define LOADER_KERNEL_H

#include <stdbool.h>
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
	KERNEL_MONITOR,
	KERNEL_LEAVE,
	KERNEL_ENTER,
	KERNEL_RANGE_BEGIN,
	KERNEL_EMPTY, /* for measuring */
	KERNEL_PROGRAMS
};

struct pins;

struct kernel {
	const struct bpf_program *program[KERNEL_PROGRAMS];
	const struct bpf_program *vmas; /* NULL: no task_vma */
	struct gp_row *rows;		/* GP_ROWS_MAX, shared with the kernel */
	uint64_t *return_rows;		/* GP_RETURN_ROWS_MAX */
	uint64_t *slot_owner;		/* GP_SLOTS: pid */
	uint64_t *watched_fast;		/* GP_FAST_MAX */
	const uint64_t *counters;	/* GP_LANES * GP_LANE_COUNTERS */
	const uint64_t *losses;		/* GP_LOSS_CAUSE_COUNT */
	uint64_t *told; /* GP_SLOTS * GP_HOT_ROWS: how much of each counter was told */
	struct gp_meta *meta;
	int rates_fd, unsent_told_fd, names_fd;
	int watched_fd, free_slots_fd, open_calls_fd, threads_fd, threads_fast_fd;
	int ring_call_fd, ring_life_fd;
	size_t ring_call_bytes, ring_life_bytes;
	bool adopted;	       /* a predecessor made the maps, and what they hold goes on */
	uint64_t programs;     /* hash of what is loaded */
	bool programs_changed; /* a predecessor's links run others */
	struct kernel_objects *objects; /* private */
};

/* What two of us must agree on to follow each other: sizes and numbers of everything in the maps.
 */
uint64_t kernel_abi_hash(void);

/* Sizes: 0 is the default; adopted rings keep theirs. pins: NULL when nothing outlives us. 0 or
 * -errno, after a line that says why. The links that follow process life go to links: all that are
 * open close together. ahead: of kernel_ahead(), which is used where the predecessor's maps are
 * still those, and freed otherwise; or NULL. */
int kernel_open(struct kernel *ret, struct attach *links, struct pins *pins, bool adopt,
		size_t ring_call_bytes, size_t ring_life_bytes, struct kernel_objects *ahead);
/* Loads the programs of one that is about to take over, onto the maps that its predecessor has
 * pinned for this state directory and goes on with meanwhile. NULL: there are none, or not of this
 * version. */
struct kernel_objects *kernel_ahead(const char *state_dir);
const struct bpf_program *kernel_ahead_empty(const struct kernel_objects *o); /* KERNEL_EMPTY */
void kernel_ahead_free(struct kernel_objects *o);			      /* NULL is fine */
/* For good: no successor takes what is pinned for whole, and what still runs says no more. */
void kernel_retire(struct kernel *k);
void kernel_close(struct kernel *k);

#endif
