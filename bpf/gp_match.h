/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_match.h - decides if a hit counts: the process must be watched, the rings must be read, and
 * this link must be the one of its row that counts. The cheapest test comes first, because most
 * hits in a shared library come from processes that are not watched. */
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

/* By thread and row: generation of the newer link if that link counted the last hit, otherwise 0.
 * See gp_swap_counts(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_SWAPS_MAX);
	__type(key, struct gp_swap_key);
	__type(value, __u32);
} gp_swaps SEC(".maps");

/* An empty map, which the tail call in gp_own_stack() needs. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gp_nowhere SEC(".maps");

/* Makes sure that the program has a stack of its own. Since v6.13 (a76ab5731e32) programs that use
 * 64 bytes of stack or more share one stack per CPU. A uprobe program can be preempted, and the
 * same program for the next task then overwrites that stack: records had the pid of another
 * process. Programs with a tail call have a stack per task. This tail call never runs: the verifier
 * removes it, and the asm keeps the compiler from removing it. */
static __always_inline void gp_own_stack(void *ctx)
{
	__u64 never;

	asm volatile("%0 = 0" : "=r"(never));
	if (never)
		bpf_tail_call(ctx, &gp_nowhere, 0);
}

struct gp_at {	    /* one hit that counts */
	__u64 id;   /* tgid << 32 | tid */
	__u32 slot; /* slot of the process, which selects its counters of hits */
	const struct gp_row *row;
	__u32 index; /* index of the row in gp_rows */
};

/* Returns true if the program of this link counts the hit. While a link is being replaced, each hit
 * runs the programs of the new and of the old link. The new one runs first, because a uprobe adds
 * consumers at the head of its list (consumer_add() in kernel/events/uprobes.c, before and after
 * v6.12, cc01bd044e6a). It decides by the row's generation, and stores its decision in gp_swaps;
 * the old one counts if the new one did not. So each hit counts once, even if the generation
 * changes between the two. */
static __always_inline bool gp_swap_counts(const struct gp_at *at, __u32 gen)
{
	struct gp_swap_key key = {.tid = at->id, .row = at->index};
	__u32 next = at->row->next, counted, *word;

	if (!at->row->gen) /* generation 0: the row sends nothing */
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

/* While links are being replaced, a return runs the programs of the old link and of the new one.
 * The program that runs first takes the open call, and the other finds none: so no call is counted
 * twice, and both programs are allowed to count. */
static __always_inline bool gp_row_find_return(struct gp_regs *regs, struct gp_at *at)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 gen = cookie >> 32;

	gp_own_stack(regs);
	at->index = cookie;
	at->row = bpf_map_lookup_elem(&gp_rows, &at->index);
	return at->row && (at->row->gen == gen || at->row->next);
}

/* Returns true if the hit counts. A condition of the row on a value is not checked here, but by
 * gp_match_only(). */
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
