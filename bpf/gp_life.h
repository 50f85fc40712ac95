/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_life.h - reserves space in the ring for the life of processes, and gives the context of system
 * call tracepoints. */
#ifndef GP_LIFE_H
#define GP_LIFE_H

#include "bpf/gp_maps.h"

/* Context of a tracepoint of a system call: common fields; number of the call; its arguments (at
 * entry), or its result (at exit). */
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

/* Returns true if the ring is more than half full. The other half is reserved for fork, exec, exit
 * and signals that may end a process, because a job can cause any number of other records. */
static __always_inline bool gp_life_crowded(void)
{
	return bpf_ringbuf_query(&gp_ring_life, BPF_RB_AVAIL_DATA) >
	       bpf_ringbuf_query(&gp_ring_life, BPF_RB_RING_SIZE) / 2;
}

#endif
