/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* call.bpf.c - what a probed library function did. A few generic programs, one per shape of record; a
 * row of gp_rows says what each probe captures. Needs no kernel BTF: the only kernel layout it knows is
 * that of saved user registers, which is ABI.
 *
 * Every nanosecond here is paid by the job, so each program does the cheapest test first: is this
 * process watched (a miss costs 5-20 ns), then is this link the one that counts. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_regs.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define GP_DEREFS_MAX 3
#define GP_SECOND_NS  1000000000ull

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_ROWS_MAX);
	__type(key, __u32);
	__type(value, struct gp_row);
} gp_rows SEC(".maps");

struct { /* [lane][slot][hot row] */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_LANES *GP_LANE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} gp_counters SEC(".maps");

struct { /* [slot][hot row]: how much of a counter user space has told; the programs leave it alone */
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_LANE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} gp_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_RATES_MAX);
	__type(key, struct gp_rate_key);
	__type(value, struct gp_rate);
} gp_rates SEC(".maps");

struct { /* how much of gp_rate.unsent user space has told; the programs leave it alone */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_RATES_MAX);
	__type(key, struct gp_rate_key);
	__type(value, __u64);
} gp_unsent_told SEC(".maps");

struct { /* what has been silent for long is taken out by user space */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_NAMES_MAX);
	__type(key, struct gp_name_key);
	__type(value, struct gp_name);
} gp_names SEC(".maps");

struct { /* generation of the newer link if it counted this thread's latest hit of a row, else 0 */
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_SWAPS_MAX);
	__type(key, struct gp_swap_key);
	__type(value, __u32);
} gp_swaps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 * 1024 * 1024);
} gp_ring_call SEC(".maps");

struct { /* of no programs */
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gp_nowhere SEC(".maps");

/* Since a76ab5731e32 (v6.13) a program of 64 bytes of stack or more has a stack of the CPU, not of the task.
 * Uprobe programs may be preempted, and then the next task's call of the same program writes over it: records
 * with another process's number were seen. A program with a tail call is left alone. This one never happens,
 * and the verifier drops it; the compiler must not. */
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

static __always_inline __u64 gp_value(const struct gp_regs *regs, const struct gp_capture *c)
{
	__u64 value = 0;

	if (c->source == GP_SRC_NONE)
		return 0;
	if (c->source != GP_SRC_STACK)
		value = gp_register(regs, c->source);
	else if (bpf_probe_read_user(&value, sizeof(value), (void *)(regs->sp + c->stack)))
		gp_lose(GP_LOSS_read_fault);
#pragma unroll
	for (int i = 0; i < GP_DEREFS_MAX; i++) {
		bool last = i + 1 == c->derefs;
		__u64 from = value + (last ? c->offset[0] : 0);
		__u32 size = last ? c->width : sizeof(value);

		if (i >= c->derefs)
			break;
		value = 0;
		if (size > sizeof(value))
			size = sizeof(value);
		if (bpf_probe_read_user(&value, size, (void *)from)) {
			gp_lose(GP_LOSS_read_fault);
			return 0;
		}
	}
	if (c->width == 4)
		return (__u32)value;
	if (c->width == 2)
		return (__u16)value;
	if (c->width == 1)
		return (__u8)value;
	return value;
}

/* While links take the place of others every hit runs both programs, the newer link's first: a uprobe
 * gets new consumers at the head of its list (consumer_add() in kernel/events/uprobes.c, before and since
 * cc01bd044e6a, v6.12). The newer decides by the row's generation and leaves word; the older counts
 * exactly what the newer did not, so the moment at which the generation changes cannot fall in between. */
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

/* Of a return: whichever link of two comes first finds the call open. */
static __always_inline bool gp_row_find_return(struct gp_regs *regs, struct gp_at *at)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 gen = cookie >> 32;

	gp_own_stack(regs);
	at->index = cookie;
	at->row = bpf_map_lookup_elem(&gp_rows, &at->index);
	return at->row && (at->row->gen == gen || at->row->next);
}

static __always_inline bool gp_is_watched(__u32 tgid, __u32 *slot)
{
	__u32 place = tgid % GP_FAST_MAX;
	const __u64 *fast = bpf_map_lookup_elem(&gp_watched_fast, &place);
	const struct gp_watch *watch;

	if (fast) {
		__u64 entry = *(const volatile __u64 *)fast; /* once: both halves of one process */

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

static __always_inline bool gp_match(struct gp_regs *regs, struct gp_at *at)
{
	at->id = bpf_get_current_pid_tgid();
	if (!gp_is_watched(at->id >> 32, &at->slot) || gp_is_silent() || !gp_row_find(regs, at))
		return false;
	return at->row->only.source == GP_SRC_NONE || gp_value(regs, &at->row->only) == at->row->only_value;
}

/* The second that the row is in, with what was sent in it. Windows, not a token bucket: one compare and one
 * add on the path that sends. NULL: no memory, then nothing is bounded. */
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

/* Takes one record of the row's bound; true: there is none left. */
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

/* Of a row that is counted only, for now. */
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

/* The text of a row's string, and its length with the terminator. Always terminated; empty when it cannot
 * be read. */
static __always_inline __u32 gp_text(const struct gp_regs *regs, const struct gp_row *row, char *text,
				     __u32 size)
{
	__u64 at = gp_value(regs, &row->name);
	long len;

	/* const std::string &: the first word is the character pointer, short strings and the old ABI too */
	if (row->string == 2 && bpf_probe_read_user(&at, sizeof(at), (void *)at))
		at = 0;
	len = bpf_probe_read_user_str(text, size, (void *)at);
	if (len > 0)
		return len;
	text[0] = 0;
	gp_lose(GP_LOSS_read_fault);
	return 1;
}

SEC("uprobe")
int gp_empty(struct gp_regs *regs)
{
	return 0;
}

SEC("uprobe")
int gp_count(struct gp_regs *regs)
{
	struct gp_at at;
	__u32 index;
	__u64 *count;

	if (!gp_match(regs, &at))
		return 0;
	index = (bpf_get_smp_processor_id() % GP_LANES) * GP_LANE_COUNTERS +
		at.slot % GP_SLOTS * GP_HOT_ROWS + at.row->hot % GP_HOT_ROWS;
	count = bpf_map_lookup_elem(&gp_counters, &index);
	/* Atomic even though the lane is this CPU's: programs may be preempted between load and store. */
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

struct gp_hit_rec {
	struct gp_rec h;
	struct gp_hit p;
};

SEC("uprobe")
int gp_hit(struct gp_regs *regs)
{
	struct gp_hit_rec *rec;
	struct gp_at at;

	if (!gp_match(regs, &at) || gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_hit, sizeof(rec->p), at.row->probe);
	rec->p.sp = regs->sp;
	rec->p.arg[0] = gp_value(regs, &at.row->arg[0]);
	rec->p.arg[1] = gp_value(regs, &at.row->arg[1]);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_named_rec {
	struct gp_rec h;
	struct gp_named p;
};

SEC("uprobe")
int gp_named(struct gp_regs *regs)
{
	struct gp_named_rec *rec;
	struct gp_at at;

	if (!gp_match(regs, &at) || gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_named, sizeof(rec->p), at.row->probe);
	rec->p.arg[0] = gp_value(regs, &at.row->arg[0]);
	rec->p.arg[1] = gp_value(regs, &at.row->arg[1]);
	gp_text(regs, at.row, rec->p.name, sizeof(rec->p.name));
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_range_begin_rec {
	struct gp_rec h;
	struct gp_range_begin p;
};

/* Names that matter are told by their first bytes, and are not bounded. */
static __always_inline bool gp_name_kept(const struct gp_row *row, __u64 first)
{
#pragma unroll
	for (int i = 0; i < GP_KEEP; i++)
		if (i < row->nkeep && (first & row->keep[i].mask) == row->keep[i].value)
			return true;
	return false;
}

/* Words mixed by multiplication with the golden ratio (Knuth 6.4). What lies behind the terminator is of
 * older records and does not count. */
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

/* Counts the name in the row's second; true: it has had its part. The first half of a second's records is
 * for whoever comes first, so that a name alone is bounded late; the second is for names that had little. */
static __always_inline bool gp_name_take(const struct gp_at *at, const struct gp_rate *rate, __u64 hash)
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
	/* A row that is at its end learns no names. */
	if (rate->count < at->row->max_hz && gp_name_take(at, rate, gp_name_hash((const __u64 *)text, len))) {
		__sync_fetch_and_add(&rate->unsent, 1);
		gp_lose(GP_LOSS_rate_limited);
		return true;
	}
	return gp_rate_take(at, rate);
}

/* The name is read straight into the ring: a copy on the stack would have to be zeroed and moved, at every
 * hit. What lies behind its end there is of older records. */
static __always_inline bool gp_range_send(struct gp_regs *regs, const struct gp_at *at, __u32 depth)
{
	struct gp_range_begin_rec *rec;
	__u32 len = 1;

	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec) {
		gp_lose(GP_LOSS_ring_call);
		return false;
	}
	*(__u64 *)rec->p.name = 0;
	if (at->row->string)
		len = gp_text(regs, at->row, rec->p.name, sizeof(rec->p.name));
	if (at->row->max_hz && !gp_name_kept(at->row, *(__u64 *)rec->p.name) &&
	    gp_name_over_rate(at, rec->p.name, len)) {
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		return false;
	}
	gp_head(&rec->h, at->id, GP_KIND_range_begin, sizeof(rec->p), at->row->probe);
	rec->p.depth = depth;
	rec->p.flags = at->row->string ? 0 : GP_RANGE_ANONYMOUS;
	rec->p.reserved = 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return true;
}

/* State of the calling thread, in its fast place if it has one. */
static __always_inline struct gp_thread *gp_thread_find(__u32 tid, struct gp_thread **fast)
{
	__u32 place = tid % GP_FAST_MAX;

	*fast = bpf_map_lookup_elem(&gp_threads_fast, &place);
	if (*fast && (*fast)->tid == tid)
		return *fast;
	return bpf_map_lookup_elem(&gp_threads, &tid);
}

/* Two threads may want one place at once. Each adds first and looks then, so at most one reads 1; when
 * both read 2 the place is lost, and both go on in the hash. */
static __always_inline bool gp_thread_claim(struct gp_thread *fast, __u32 tid)
{
	if (!fast || fast->claims)
		return false;
	__sync_fetch_and_add(&fast->claims, 1);
	if (*(volatile __u64 *)&fast->claims != 1)
		return false;
	fast->depth = 0;
	fast->sent = 0;
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

SEC("uprobe")
int gp_range_begin(struct gp_regs *regs)
{
	struct gp_thread *thread, *fast;
	struct gp_at at;
	__u32 depth;

	if (!gp_match(regs, &at))
		return 0;
	if (at.row->flags & GP_ROW_ANON) { /* its end is not announced: nothing to pair */
		thread = gp_thread_find(at.id, &fast);
		gp_range_send(regs, &at, thread ? thread->depth : 0);
		return 0;
	}
	thread = gp_thread_get(at.id);
	if (!thread)
		return gp_lose(GP_LOSS_stack_full);
	/* So deep is nothing real: ranges are left open, or closed on other threads. What is open is
	 * forgotten, so that those to come are paired again. */
	if (thread->depth >= GP_RANGE_DEPTH) {
		gp_lose(GP_LOSS_stack_full);
		thread->depth = 0;
		thread->sent = 0;
	}
	depth = thread->depth++ & (GP_RANGE_DEPTH - 1);
	if (gp_range_send(regs, &at, depth))
		thread->sent |= 1ull << depth;
	else
		thread->sent &= ~(1ull << depth);
	return 0;
}

struct gp_range_end_rec {
	struct gp_rec h;
	struct gp_range_end p;
};

SEC("uprobe")
int gp_range_end(struct gp_regs *regs)
{
	struct gp_thread *thread, *fast;
	struct gp_range_end_rec *rec;
	struct gp_at at;
	__u32 depth;

	if (!gp_match(regs, &at))
		return 0;
	thread = gp_thread_find(at.id, &fast);
	if (!thread || !thread->depth)
		return gp_lose(GP_LOSS_unpaired);
	depth = --thread->depth;
	if (depth >= GP_RANGE_DEPTH || !(thread->sent & 1ull << depth))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_range_end, sizeof(rec->p), at.row->probe);
	rec->p = (struct gp_range_end){.depth = depth};
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("uprobe")
int gp_enter(struct gp_regs *regs)
{
	struct gp_open_call call, *open;
	struct gp_at at;
	__u64 key;

	if (!gp_match(regs, &at))
		return 0;
	if (at.row->flags & GP_ROW_UNSENT) {
		gp_unsent(&at);
		return 0;
	}
	key = at.id << 32 | at.index;
	call.pid = at.id >> 32;
	call.probe = at.row->probe;
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++)
		call.arg[i] = gp_value(regs, &at.row->arg[i]);
	open = bpf_map_lookup_elem(&gp_open_calls, &key);
	call.ts_ns = bpf_ktime_get_ns();
	if (open)
		*open = call;
	else if (bpf_map_update_elem(&gp_open_calls, &key, &call, BPF_ANY))
		gp_lose(GP_LOSS_open_full);
	return 0;
}

struct gp_call_rec {
	struct gp_rec h;
	struct gp_call p;
};

/* The open call proves that the process is watched; only a miss has to ask. */
static __always_inline int gp_unpaired(const struct gp_at *at)
{
	__u32 slot;

	if (at->row->only.source == GP_SRC_NONE && !at->row->next && gp_is_watched(at->id >> 32, &slot) &&
	    !gp_is_silent())
		gp_lose(GP_LOSS_unpaired);
	return 0;
}

SEC("uprobe")
int gp_leave(struct gp_regs *regs)
{
	struct gp_open_call *open;
	struct gp_call_rec *rec;
	struct gp_at at;
	__u64 key, start_ns;

	if (!gp_row_find_return(regs, &at))
		return 0;
	at.id = bpf_get_current_pid_tgid();
	key = at.id << 32 | at.index;
	open = bpf_map_lookup_elem(&gp_open_calls, &key);
	if (!open || !open->ts_ns)
		return at.row->flags & GP_ROW_UNSENT ? 0 : gp_unpaired(&at);
	start_ns = open->ts_ns;
	open->ts_ns = 0;
	if (gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_call, sizeof(rec->p), at.row->probe);
	rec->p.dur_ns = rec->h.ts_ns - start_ns;
	rec->p.ret = GP_LOAD(regs, GP_RET);
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++)
		rec->p.arg[i] = open->arg[i];
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}
