/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_life.h - space in the ring of process life, and the context of system call tracepoints. */
#ifndef GP_LIFE_H
#define GP_LIFE_H

#include "bpf/gp_maps.h"

/* Context of a system call tracepoint: common fields; number of the call; arguments at entry, or
 * result at exit. */
struct gp_syscall {
	__u64 common, number, arg[6];
};

static __always_inline void *gp_life(__u32 size)
{
	void *rec = bpf_ringbuf_reserve(&gp_ring_life, size, 0);

	if (!rec)
		gp_lose(GP_LOSS_ring_life);
	return rec;
}

/* Returns true when the ring is half full. The other half is for fork, exec, exit and signals that
 * may end a process, as a job can cause any number of other records. */
static __always_inline bool gp_life_crowded(void)
{
	return bpf_ringbuf_query(&gp_ring_life, BPF_RB_AVAIL_DATA) >
	       bpf_ringbuf_query(&gp_ring_life, BPF_RB_RING_SIZE) / 2;
}

#endif
