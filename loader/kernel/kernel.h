/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - the loaded kernel side: programs by kind, maps in shared memory, and the programs that
 * follow process life. Owns what it opens. With pins, maps and links also have names, by which a
 * successor finds them. */
#ifndef LOADER_KERNEL_H
#define LOADER_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "bpf/gp_private.h"
#include "loader/attach/attach.h"

/* Kinds of programs, in the order in which they are attached: ends before begins and returns before
 * entries, so that every recorded begin can end. */
enum kernel_program {
	KERNEL_RANGE_END,
	KERNEL_COUNT,
	KERNEL_HIT,
	KERNEL_NAMED,
	KERNEL_MONITOR,
	KERNEL_OPERATION,
	KERNEL_RETURN,
	KERNEL_ENTER,
	KERNEL_RANGE_BEGIN,
	KERNEL_EMPTY, /* does nothing; used to measure the cost of a hit */
	KERNEL_PROGRAMS
};

struct pins;

/* The programs and maps of the kernel side; sizes are numbers of entries */
struct kernel {
	const struct bpf_program *program[KERNEL_PROGRAMS];
	/* Iterator over mappings; NULL: the kernel lacks feature task_vma */
	const struct bpf_program *vmas;
	struct gp_row *rows;	  /* probe rows for the kernel, GP_ROWS_MAX */
	uint64_t *return_rows;	  /* GP_RETURN_ROWS_MAX */
	uint64_t *slot_owner;	  /* pid of each slot's owner, GP_SLOTS */
	uint64_t *watched_fast;	  /* GP_FAST_MAX */
	const uint64_t *counters; /* counters of hot rows, GP_LANES * GP_LANE_COUNTERS */
	const uint64_t *losses;	  /* GP_LOSS_CAUSE_COUNT */
	uint64_t *counts_saved; /* GP_SLOTS * GP_HOT_ROWS: how much of each counter is saved on the
				   tape */
	struct gp_meta *meta;
	int rates_fd, unsent_saved_fd, names_fd;
	int watched_fd, free_slots_fd, open_calls_fd, threads_fd, threads_fast_fd;
	int ring_call_fd, ring_life_fd;
	size_t ring_call_bytes, ring_life_bytes;
	bool adopted;	       /* the maps and their content come from a predecessor */
	uint64_t programs;     /* hash of the loaded programs */
	bool programs_changed; /* the links of a predecessor run programs that differ from these */
	struct kernel_objects *objects; /* private */
};

/* Returns a hash of the sizes of records and maps. A successor can take over a predecessor only if
 * their hashes are equal. */
uint64_t kernel_abi_hash(void);

/* Loads the programs of probes, makes the maps, and begins to load the other programs in a separate
 * thread, which kernel_open() or kernel_close() joins. Sizes of rings are in bytes, 0: default;
 * rings that are taken over keep their sizes. pins: NULL when nothing outlives this process.
 * preload: from kernel_preload(), or NULL; used if the maps of the predecessor are still the same,
 * and freed otherwise. Returns 0, or -errno after logging the reason. */
int kernel_begin(struct kernel *ret, struct pins *pins, bool adopt, size_t ring_call_bytes,
		 size_t ring_life_bytes, struct kernel_objects *preload);
/* Waits until all programs are loaded, and attaches those that follow process life. Adds the new
 * links to `links`, which closes all of its links in parallel. Returns 0; or -errno after logging
 * the reason and closing k. */
int kernel_open(struct kernel *k, struct attach *links, struct pins *pins);
/* Loads the programs for a takeover in advance. They use the maps that the predecessor has pinned
 * for this state directory. Returns NULL when there are no maps, or when they are of another
 * version. */
struct kernel_objects *kernel_preload(const char *state_dir);
/* Returns program KERNEL_EMPTY of the preloaded programs. */
const struct bpf_program *kernel_preload_empty(const struct kernel_objects *o);
void kernel_objects_free(struct kernel_objects *o); /* NULL is allowed */
/* Ends the kernel side for good: a successor does not take it over, and its programs send nothing
 * from now on. */
void kernel_retire(struct kernel *k);
void kernel_close(struct kernel *k);

#endif
