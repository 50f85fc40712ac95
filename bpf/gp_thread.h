/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_thread.h - the open ranges of each thread, so that the end of a range is sent only if its
 * begin was sent. */
#ifndef GP_THREAD_H
#define GP_THREAD_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"

/* Returns the data of thread tid, from gp_threads_fast if the thread owns an entry there, otherwise
 * from gp_threads; or NULL. *fast: the thread's possible entry in gp_threads_fast. */
static __always_inline struct gp_thread *gp_thread_find(__u32 tid, struct gp_thread **fast)
{
	__u32 index = tid % GP_FAST_MAX;

	*fast = bpf_map_lookup_elem(&gp_threads_fast, &index);
	if (*fast && (*fast)->tid == tid)
		return *fast;
	return bpf_map_lookup_elem(&gp_threads, &tid);
}

/* Tries to take an entry of gp_threads_fast for a thread, and returns true if it did. Two threads
 * may try at the same time. Each adds 1 and then reads, so at most one of them reads 1. If both
 * read 2, the entry is unusable, and both use gp_threads. */
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

/* Begins another epoch in the process: rows with GP_ROW_ONCE are sent once more by each thread. */
static __always_inline void gp_epoch_begin(__u32 slot)
{
	__u64 *epoch = bpf_map_lookup_elem(&gp_epochs, &slot);

	if (epoch)
		__sync_fetch_and_add(epoch, 1);
}

/* Returns true if the thread has already sent a hit of this row in the present epoch, and notes
 * that it has. The epoch belongs to the process, because one thread may apply updates that another
 * one computes. The note belongs to the thread, because two threads may train at the same time.
 * Rows whose indexes differ by 64 share a bit. */
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
