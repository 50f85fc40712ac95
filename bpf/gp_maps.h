/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_maps.h - BPF maps that several BPF objects share. call.bpf.c creates all of them, including
 * those it does not use; the loader lets the other objects use the same maps before it loads
 * them. */
#ifndef GP_MAPS_H
#define GP_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_private.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_WATCH_MAX);
	__type(key, __u32);
	__type(value, struct gp_watch);
} gp_watched SEC(".maps");

/* Watched processes, at index tgid % GP_FAST_MAX. Usually this saves the lookup in gp_watched,
 * which would be the largest cost of a hit (50 of 95 ns). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_FAST_MAX);
	__type(key, __u32);
	__type(value, __u64);
} gp_watched_fast SEC(".maps");

/* Calls that were entered and have not returned. The entry of a call that has returned is kept,
 * with ts_ns 0, and the thread's next call overwrites it: this costs a third of deleting and
 * inserting it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_OPEN_MAX);
	__type(key, __u64);
	__type(value, struct gp_open_call);
} gp_open_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_THREADS_MAX);
	__type(key, __u32);
	__type(value, struct gp_thread);
} gp_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GP_FAST_MAX);
	__type(key, __u32);
	__type(value, struct gp_thread);
} gp_threads_fast SEC(".maps");

/* Number of hits of rows with GP_ROW_ARMS, by slot. When this number has changed, rows with
 * GP_ROW_ONCE send another hit. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GP_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} gp_epochs SEC(".maps");

/* List of the rows that are probed at entry and return, as row + 1; 0 ends the list. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_RETURN_ROWS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} gp_return_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_LOSS_CAUSE_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} gp_losses SEC(".maps");

/* The process (pid) to which each slot belongs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} gp_slot_owner SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, GP_SLOTS);
	__uint(key_size, 0);
	__type(value, __u32);
} gp_free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} gp_ring_life SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_FILES_MAX);
	__type(key, __u64);
	__type(value, struct gp_file_open);
} gp_files SEC(".maps");

/* Files that watched processes wrote. If one of them is opened for reading, this is reported. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_KNOWN_MAX);
	__type(key, struct gp_file_key);
	__type(value, __u64);
} gp_known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gp_meta);
} gp_meta SEC(".maps");

static __always_inline struct gp_meta *gp_meta_find(void)
{
	__u32 only = 0;

	return bpf_map_lookup_elem(&gp_meta, &only);
}

static __always_inline bool gp_is_watched(__u32 tgid, __u32 *slot)
{
	__u32 index = tgid % GP_FAST_MAX;
	const __u64 *fast = bpf_map_lookup_elem(&gp_watched_fast, &index);
	const struct gp_watch *watch;

	if (fast) {
		/* read once, so that slot and tgid are of the same process */
		__u64 entry = *(const volatile __u64 *)fast;

		*slot = entry >> 32;
		if ((__u32)entry == tgid)
			return true;
	}
	watch = bpf_map_lookup_elem(&gp_watched, &tgid);
	if (watch)
		*slot = watch->slot;
	return watch;
}

static __always_inline bool gp_is_silent(void)
{
	const struct gp_meta *meta = gp_meta_find();

	return !meta || meta->silent;
}

static __always_inline int gp_lose(__u32 cause)
{
	__u64 *count = bpf_map_lookup_elem(&gp_losses, &cause);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

static __always_inline void gp_head(struct gp_rec *rec, __u64 id, __u16 kind, __u16 payload,
				    __u32 probe)
{
	struct gp_meta *meta = gp_meta_find();

	rec->ts_ns = bpf_ktime_get_ns();
	/* The difference is signed, because the heartbeat can be later than ts_ns. */
	if (meta && (__s64)(rec->ts_ns - meta->heartbeat_ns) > (__s64)GP_SILENT_NS)
		meta->silent = 1;
	rec->pid = id >> 32;
	rec->tid = id;
	rec->len = sizeof(*rec) + payload;
	rec->kind = kind;
	rec->probe = probe;
}
#endif
