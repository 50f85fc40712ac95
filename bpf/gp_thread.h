/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_thread.h - ranges that a thread has open, so that an end is sent exactly if its begin was. */
#ifndef GP_THREAD_H
#define GP_THREAD_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"

/* State of the calling thread, in its fast place if it has one. */
static __always_inline struct gp_thread *gp_thread_find(__u32 tid, struct gp_thread **fast)
{
	__u32 place = tid % GP_FAST_MAX;

	*fast = bpf_map_lookup_elem(&gp_threads_fast, &place);
	if (*fast && (*fast)->tid == tid)
		return *fast;
	return bpf_map_lookup_elem(&gp_threads, &tid);
}

/* Two threads may want one place at once. Each adds first and looks then, so at most one reads 1;
 * when both read 2 the place is lost, and both go on in the hash. */
static __always_inline bool gp_thread_claim(struct gp_thread *fast, __u32 tid)
{
	if (!fast || fast->claims)
		return false;
	__sync_fetch_and_add(&fast->claims, 1);
	if (*(volatile __u64 *)&fast->claims != 1)
		return false;
	fast->depth = 0;
	fast->sent = 0;
	fast->epoch = 0;
	fast->once = 0;
	fast->tid = tid;
	return true;
}

static __always_inline struct gp_thread *gp_thread_get(__u32 tid)
{
	struct gp_thread *fast, none = {}, *thread = gp_thread_find(tid, &fast);

	if (thread)
		return thread;
	if (gp_thread_claim(fast, tid))
		return fast;
	bpf_map_update_elem(&gp_threads, &tid, &none, BPF_ANY);
	return bpf_map_lookup_elem(&gp_threads, &tid);
}

/* A new epoch begins in the process. */
static __always_inline void gp_epoch_begin(__u32 slot)
{
	__u64 *epoch = bpf_map_lookup_elem(&gp_epochs, &slot);

	if (epoch)
		__sync_fetch_and_add(epoch, 1);
}

/* The thread has told of this row since the process's epoch began. By process, as another thread
 * may update what this one computes; remembered by thread, as two may train at once. Two rows that
 * are 64 apart share a bit. */
static __always_inline bool gp_sent_once(__u32 tid, __u32 slot, __u32 row)
{
	__u64 *epoch = bpf_map_lookup_elem(&gp_epochs, &slot), bit = 1ull << (row & 63);
	struct gp_thread *thread = epoch ? gp_thread_get(tid) : NULL;

	if (!thread)
		return false;
	if (thread->epoch != *epoch) {
		thread->epoch = *epoch;
		thread->once = 0;
	}
	if (thread->once & bit)
		return true;
	thread->once |= bit;
	return false;
}

#endif
