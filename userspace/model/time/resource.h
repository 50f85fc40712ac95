/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - what a training process lacked, second by second: a CPU, memory, a disk. It says how
 * much of a span the training thread could not work because of that.
 *
 * Each second, the records gp_usage of some threads and then one gp_pressure arrive. Waiting for a
 * CPU is that of the training thread, and, while that thread sleeps, of the busy thread that waited
 * most: the training thread is likely to sleep until that one is done (a parallel loop, a backward
 * pass).
 *
 * Pure; under 10 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_RESOURCE_H
#define MODEL_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define RESOURCE_SECONDS 180 /* that are kept */
#define RESOURCE_THREADS 16  /* threads that are followed */

/* Sums over a span; waits are those of the training thread. */
struct resource_sums {
	uint64_t covered_ns;   /* part of the span of which this is known */
	uint64_t wait_ns;      /* for a CPU on which others ran */
	uint64_t throttled_ns; /* for a CPU, because the quota was used up */
	uint64_t asleep_ns;    /* neither on a CPU nor waiting for one */
	uint64_t block_ns;     /* for block I/O, as the kernel accounts it for the thread */
	uint64_t memory_ns;    /* time in which a thread of the control group lacked memory */
	uint64_t io_ns;	       /* time in which a thread of the control group waited for I/O */
	bool block_known;      /* block_ns is measured */
	bool stall_known;      /* memory_ns and io_ns are measured */
	bool group;	       /* they are of the control group, not of the machine */
};

struct resource;
struct resource *resource_new(void); /* NULL: no memory */
void resource_free(struct resource *r);
/* Takes the figures of a thread; trains: it is the training thread. */
void resource_usage(struct resource *r, uint32_t tid, const struct gp_usage *u, bool trains);
/* Takes what its control group lacked, which ends a second of records. */
void resource_pressure(struct resource *r, uint64_t ts_ns, const struct gp_pressure *p);
/* Sums what is known of a span; a second that lies partly within counts in proportion. */
void resource_between(const struct resource *r, uint64_t from_ns, uint64_t to_ns,
		      struct resource_sums *ret);
void resource_archive(struct archive *a, struct resource **r);
void resource_sums_archive(struct archive *a, struct resource_sums *s);

#endif
