/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_match.h - decides whether a hit counts: is the process watched, are the rings being read, and
 * is this link the one of its row that counts. The cheapest test comes first, as most hits in a
 * shared library come from unwatched processes. */
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

struct { /* generation of the newer link if that counted the latest hit of a row on this thread;
	    else 0 */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_SWAPS_MAX);
	__type(key, struct gp_swap_key);
	__type(value, __u32);
} gp_swaps SEC(".maps");

struct { /* has no entries: gp_own_stack() needs a map for its tail call */
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gp_nowhere SEC(".maps");

/* Since a76ab5731e32 (v6.13) a program that uses 64 bytes of stack or more has a stack per CPU, not
 * per task. Uprobe programs can be preempted; then a call of the same program by the next task
 * overwrites that stack, and records with the number of another process were seen. Programs with a
 * tail call keep a stack per task. This tail call never runs: the verifier removes it, and the asm
 * keeps the compiler from doing so. */
static __always_inline void gp_own_stack(void *ctx)
{
	__u64 never;

	asm volatile("%0 = 0" : "=r"(never));
	if (never)
		bpf_tail_call(ctx, &gp_nowhere, 0);
}

struct gp_at {	    /* one hit that counts */
	__u64 id;   /* tgid << 32 | tid */
	__u32 slot; /* slot of hot counters */
	const struct gp_row *row;
	__u32 index; /* index of the row in gp_rows */
};

/* While links are being replaced, every hit runs the programs of both links, that of the newer link
 * first: a uprobe adds consumers at the head of its list (consumer_add() in
 * kernel/events/uprobes.c, before and since cc01bd044e6a, v6.12). The newer program decides by the
 * row's generation and stores its decision; the older one counts exactly what the newer did not. So
 * each hit counts once, also when the generation changes between the two. */
static __always_inline bool gp_swap_counts(const struct gp_at *at, __u32 gen)
{
	struct gp_swap_key key = {.tid = at->id, .row = at->index};
	__u32 next = at->row->next, counted, *word;

	if (!at->row->gen) /* a row of generation 0 sends nothing */
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

/* A return may have two links: the program that runs first finds the open call. */
static __always_inline bool gp_row_find_return(struct gp_regs *regs, struct gp_at *at)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 gen = cookie >> 32;

	gp_own_stack(regs);
	at->index = cookie;
	at->row = bpf_map_lookup_elem(&gp_rows, &at->index);
	return at->row && (at->row->gen == gen || at->row->next);
}

/* Returns true when the hit counts, except for the row's condition on a value (gp_match_only()). */
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
