/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_match.h - does this hit count: is the process watched, does somebody read, is this link the
 * one of its row that counts. The cheapest test first: most hits of a shared library are of
 * somebody else. */
#ifndef GP_MATCH_H
#define GP_MATCH_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_regs.h"
#include "bpf/gp_value.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_ROWS_MAX);
	__type(key, __u32);
	__type(value, struct gp_row);
} gp_rows SEC(".maps");

struct { /* generation of the newer link if it counted this thread's latest hit of a row, else 0 */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_SWAPS_MAX);
	__type(key, struct gp_swap_key);
	__type(value, __u32);
} gp_swaps SEC(".maps");

struct { /* of no programs */
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gp_nowhere SEC(".maps");

/* Since a76ab5731e32 (v6.13) a program of 64 bytes of stack or more has a stack of the CPU, not of
 * the task. Uprobe programs may be preempted, and then the next task's call of the same program
 * writes over it: records with another process's number were seen. A program with a tail call is
 * left alone. This one never happens, and the verifier drops it; the compiler must not. */
static __always_inline void gp_own_stack(void *ctx)
{
	__u64 never;

	asm volatile("%0 = 0" : "=r"(never));
	if (never)
		bpf_tail_call(ctx, &gp_nowhere, 0);
}

struct gp_at {	    /* one hit that counts */
	__u64 id;   /* tgid << 32 | tid */
	__u32 slot; /* of hot counters */
	const struct gp_row *row;
	__u32 index; /* of the row */
};

/* While links take the place of others every hit runs both programs, the newer link's first: a
 * uprobe gets new consumers at the head of its list (consumer_add() in kernel/events/uprobes.c,
 * before and since cc01bd044e6a, v6.12). The newer decides by the row's generation and leaves word;
 * the older counts exactly what the newer did not, so the moment at which the generation changes
 * cannot fall in between. */
static __always_inline bool gp_swap_counts(const struct gp_at *at, __u32 gen)
{
	struct gp_swap_key key = {.tid = at->id, .row = at->index};
	__u32 next = at->row->next, counted, *word;

	if (!at->row->gen) /* silent, and stays so */
		return false;
	if (gen == next) {
		counted = at->row->gen == next ? next : 0;
		bpf_map_update_elem(&gp_swaps, &key, &counted, BPF_ANY);
		return counted;
	}
	word = bpf_map_lookup_elem(&gp_swaps, &key);
	return !word || *word != next;
}

static __always_inline bool gp_row_find(struct gp_regs *regs, struct gp_at *at)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 gen = cookie >> 32;

	gp_own_stack(regs);
	at->index = cookie;
	at->row = bpf_map_lookup_elem(&gp_rows, &at->index);
	if (!at->row)
		return false;
	return at->row->next ? gp_swap_counts(at, gen) : at->row->gen == gen;
}

/* A return may have two links: the one that runs first finds the call open. */
static __always_inline bool gp_row_find_return(struct gp_regs *regs, struct gp_at *at)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 gen = cookie >> 32;

	gp_own_stack(regs);
	at->index = cookie;
	at->row = bpf_map_lookup_elem(&gp_rows, &at->index);
	return at->row && (at->row->gen == gen || at->row->next);
}

/* The link counts, whatever the call is about. */
static __always_inline bool gp_match_link(struct gp_regs *regs, struct gp_at *at)
{
	at->id = bpf_get_current_pid_tgid();
	return gp_is_watched(at->id >> 32, &at->slot) && !gp_is_silent() && gp_row_find(regs, at);
}

static __always_inline bool gp_match_only(const struct gp_regs *regs, const struct gp_row *row)
{
	return row->only.source == GP_SRC_NONE || gp_value(regs, &row->only) == row->only_value;
}

static __always_inline bool gp_match(struct gp_regs *regs, struct gp_at *at)
{
	return gp_match_link(regs, at) && gp_match_only(regs, at->row);
}

#endif
