/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_rate.h - limits how many records per second a row sends for a process, and which share of them
 * one name from the user's code may have. Hits over the limit are counted. */
#ifndef GP_RATE_H
#define GP_RATE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_match.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_RATES_MAX);
	__type(key, struct gp_rate_key);
	__type(value, struct gp_rate);
} gp_rates SEC(".maps");

/* Value of gp_rate.unsent that is already recorded on the tape. Only user space uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_RATES_MAX);
	__type(key, struct gp_rate_key);
	__type(value, __u64);
} gp_unsent_saved SEC(".maps");

/* Names that were counted in the present second of a row. User space removes names that were not
 * used for some time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_NAMES_MAX);
	__type(key, struct gp_name_key);
	__type(value, struct gp_name);
} gp_names SEC(".maps");

/* Returns the state for the present second of the row, or NULL if there is no memory; then there is
 * no limit. Seconds are fixed windows and not a token bucket, because this costs only one
 * comparison and one addition per record. */
static __always_inline struct gp_rate *gp_rate_now(const struct gp_at *at)
{
	struct gp_rate_key key = {at->index, at->id >> 32};
	struct gp_rate *rate = bpf_map_lookup_elem(&gp_rates, &key), none = {};
	__u64 now_ns = bpf_ktime_get_ns();

	if (!rate) {
		bpf_map_update_elem(&gp_rates, &key, &none, BPF_NOEXIST);
		rate = bpf_map_lookup_elem(&gp_rates, &key);
	}
	if (rate && now_ns - rate->start_ns >= GP_SECOND_NS) {
		rate->start_ns = now_ns;
		rate->count = 0;
	}
	return rate;
}

/* Counts one record against the row's limit. Returns true if the limit was already reached, so that
 * the record must be dropped. */
static __always_inline bool gp_rate_take(const struct gp_at *at, struct gp_rate *rate)
{
	if (rate->count < at->row->max_hz) {
		__sync_fetch_and_add(&rate->count, 1);
		return false;
	}
	__sync_fetch_and_add(&rate->unsent, 1);
	gp_lose(GP_LOSS_rate_limited);
	return true;
}

/* Adds a hit that is not sent to the count of unsent hits of its row and process. */
static __always_inline void gp_unsent(const struct gp_at *at)
{
	struct gp_rate_key key = {at->index, at->id >> 32};
	struct gp_rate *rate = bpf_map_lookup_elem(&gp_rates, &key), first = {.unsent = 1};

	if (rate)
		__sync_fetch_and_add(&rate->unsent, 1);
	else
		bpf_map_update_elem(&gp_rates, &key, &first, BPF_NOEXIST);
}

static __always_inline bool gp_over_rate(const struct gp_at *at)
{
	struct gp_rate *rate;

	if (at->row->flags & GP_ROW_UNSENT) {
		gp_unsent(at);
		return true;
	}
	if (!at->row->max_hz)
		return false;
	rate = gp_rate_now(at);
	return rate && gp_rate_take(at, rate);
}

/* Returns true if the name is exempt from the limit. first: the first 8 bytes of the name. */
static __always_inline bool gp_name_kept(const struct gp_row *row, __u64 first)
{
#pragma unroll
	for (int i = 0; i < GP_KEEP; i++)
		if (i < row->nkeep && (first & row->keep[i].mask) == row->keep[i].value)
			return true;
	return false;
}

/* Returns a hash of a name of len bytes: words are multiplied by the golden ratio (Knuth 6.4).
 * Bytes after the name are ignored, because they are from older records. */
static __always_inline __u64 gp_name_hash(const __u64 *text, __u32 len)
{
	__u64 hash = 0, word;

#pragma unroll
	for (__u32 i = 0; i < GP_NAME_MAX / 8; i++) {
		if (8 * i >= len)
			break;
		word = text[i];
		if (8 * i + 8 > len)
			word &= (1ull << 8 * (len - 8 * i)) - 1;
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* Counts the name in the present second of the row. Returns true if the name has used up its share
 * of the row's limit. Any name may use the first half of the limit; the second half is for names
 * with few records. */
static __always_inline bool gp_name_take(const struct gp_at *at, const struct gp_rate *rate,
					 __u64 hash)
{
	struct gp_name_key key = {hash, at->index, at->id >> 32};
	struct gp_name *name = bpf_map_lookup_elem(&gp_names, &key), first = {rate->start_ns, 1};

	if (!name) {
		if (bpf_map_update_elem(&gp_names, &key, &first, BPF_ANY))
			gp_lose(GP_LOSS_names_full);
		return false;
	}
	if (name->start_ns != rate->start_ns) {
		*name = first;
		return false;
	}
	if (rate->count >= at->row->max_hz / 2 && name->count >= at->row->max_hz / GP_NAME_PART)
		return true;
	__sync_fetch_and_add(&name->count, 1);
	return false;
}

static __always_inline bool gp_name_over_rate(const struct gp_at *at, const char *text, __u32 len)
{
	struct gp_rate *rate = gp_rate_now(at);

	if (!rate)
		return false;
	/* Skip counting the name if the row's limit is used up, because gp_rate_take() then drops
	 * the hit. */
	if (rate->count < at->row->max_hz &&
	    gp_name_take(at, rate, gp_name_hash((const __u64 *)text, len))) {
		__sync_fetch_and_add(&rate->unsent, 1);
		gp_lose(GP_LOSS_rate_limited);
		return true;
	}
	return gp_rate_take(at, rate);
}

#endif
