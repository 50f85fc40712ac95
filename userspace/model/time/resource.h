/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - what a training process lacked in each second: a CPU, memory, a disk, and for how
 * much of a span its training thread could not work because of that.
 *
 * Each second, records gp_usage of some threads arrive, then one gp_pressure. Waiting for a CPU
 * means that the training thread waited, or that it slept while a busy thread waited: it is likely
 * to sleep until that busy thread is done (a parallel loop, a backward pass). The busy thread that
 * waited most counts.
 *
 * Pure; under 10 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_RESOURCE_H
#define MODEL_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/time/input_wait.h"

#define RESOURCE_SECONDS 180 /* number of last seconds that are kept */
#define RESOURCE_THREADS 16  /* number of threads whose usage is kept */

/* Sums over a span; waits are those of the training thread. */
struct resource_sums {
	uint64_t covered_ns;   /* part of the span for which these figures exist */
	uint64_t wait_ns;      /* waiting for a CPU on which other threads ran */
	uint64_t throttled_ns; /* waiting for a CPU because the CPU quota was used up */
	uint64_t asleep_ns;    /* neither on a CPU nor waiting for one */
	uint64_t block_ns;     /* waiting for block I/O, as the kernel measures it for the thread */
	uint64_t memory_ns;    /* time in which a thread of the control group lacked memory */
	uint64_t io_ns;	       /* time in which a thread of the control group waited for I/O */
	/* Sum of the seconds in which the control group exceeded memory.high. Its threads are then
	 * slowed down, which is part of memory_ns. */
	uint64_t high_ns;
	/* On a CPU: at least run_ns, of which the clock of the CPU is known for clocked_ns, in
	 * which it made `cycles`. */
	uint64_t run_ns, clocked_ns, cycles;
	uint64_t system_ns, faults; /* part of run_ns in the kernel; page faults */
	bool system_known;	    /* system_ns and faults are measured */
	bool block_known;	    /* block_ns is measured */
	bool stall_known;	    /* memory_ns and io_ns are measured */
	/* memory_ns and io_ns are of the control group; false: of the machine */
	bool group;

	struct input_sums input; /* waits for input; not set by resource_between() */
};

struct resource;
struct resource *resource_new(void); /* NULL: no memory */
void resource_free(struct resource *r);
/* Adds a record of the usage of thread tid. trains: it is the training thread. */
void resource_usage(struct resource *r, uint32_t tid, const struct gp_usage *u, bool trains);
/* Adds a record of the pressure in the process's control group. It is the last record of its
 * second. */
void resource_pressure(struct resource *r, uint64_t ts_ns, const struct gp_pressure *p);
/* Sums the kept seconds within a span. A second that is partly in the span counts in proportion. */
void resource_between(const struct resource *r, uint64_t from_ns, uint64_t to_ns,
		      struct resource_sums *ret);
/* Adds the sums of a further span to *to; `input` is not added. */
void resource_sums_add(struct resource_sums *to, const struct resource_sums *s);
/* Writes "memory.high of its control group was exceeded in 18 of 20 s" to out and returns out; "":
 * it was not, or that is unknown. */
const char *resource_high_text(char *out, size_t len, const struct resource_sums *s);
void resource_archive(struct archive *a, struct resource **r);
void resource_sums_archive(struct archive *a, struct resource_sums *s);

#endif
