/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_life.h - room in the ring of process life, and what a syscall tracepoint is given. */
#ifndef GP_LIFE_H
#define GP_LIFE_H

#include "bpf/gp_maps.h"

struct gp_syscall { /* common fields, number; arguments at the entry, at the exit the result */
	__u64 common, number, arg[6];
};

static __always_inline void *gp_life(__u32 size)
{
	void *rec = bpf_ringbuf_reserve(&gp_ring_life, size, 0);

	if (!rec)
		gp_lose(GP_LOSS_ring_life);
	return rec;
}

/* Fork, exec and exit may have all of the ring; what a job can do as often as it likes, half of
 * it. */
static __always_inline bool gp_life_crowded(void)
{
	return bpf_ringbuf_query(&gp_ring_life, BPF_RB_AVAIL_DATA) >
	       bpf_ringbuf_query(&gp_ring_life, BPF_RB_RING_SIZE) / 2;
}

#endif
