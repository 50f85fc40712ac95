/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_thread.h - open ranges of a thread, so that an end is sent only if its begin was sent. */
#ifndef GP_THREAD_H
#define GP_THREAD_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"

/* Returns the state of the calling thread: the fast entry if the thread owns it, else that in the
 * hash, or NULL. */
static __always_inline struct gp_thread *gp_thread_find(__u32 tid, struct gp_thread **fast)
{
	__u32 index = tid % GP_FAST_MAX;

	*fast = bpf_map_lookup_elem(&gp_threads_fast, &index);
	if (*fast && (*fast)->tid == tid)
		return *fast;
	return bpf_map_lookup_elem(&gp_threads, &tid);
}

/* Two threads may try to take one entry at once. Each adds first and reads after that, so at most
 * one of them reads 1; when both read 2, the entry is unusable and both use the hash. */
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

/* Begins a new epoch in the process, after which rows with GP_ROW_ONCE are sent again. */
static __always_inline void gp_epoch_begin(__u32 slot)
{
	__u64 *epoch = bpf_map_lookup_elem(&gp_epochs, &slot);

	if (epoch)
		__sync_fetch_and_add(epoch, 1);
}

/* Returns true when the thread has sent this row in the current epoch; marks it as sent. The epoch
 * belongs to the process, as one thread may apply updates that another one computes; the mark
 * belongs to the thread, as two threads may train at once. Rows that are 64 apart share a bit. */
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
