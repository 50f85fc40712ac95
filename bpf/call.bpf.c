/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* call.bpf.c - BPF programs that run when a probed library function is hit. There is one for each
 * kind of record; the probe's row in gp_rows says what is captured. The programs need no kernel
 * BTF: the only kernel structure they read is that of saved user registers, which is ABI.
 *
 * The time of these programs delays the job, so the cheapest test comes first: whether the process
 * is watched (if not, the hit costs 5 to 20 ns), and then whether this link is the one of its row
 * whose hits count. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_maps.h"
#include "bpf/gp_match.h"
#include "bpf/gp_monitor.h"
#include "bpf/gp_rate.h"
#include "bpf/gp_regs.h"
#include "bpf/gp_thread.h"
#include "bpf/gp_value.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Counters of probes whose hits are only counted, not sent: [lane][slot][hot row]. See GP_LANES. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_LANES *GP_LANE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} gp_counters SEC(".maps");

/* Value of each counter that is already recorded on the tape: [slot][hot row]. Only user space uses
 * it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GP_LANE_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} gp_counts_saved SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 * 1024 * 1024);
} gp_ring_call SEC(".maps");

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
	/* The addition is atomic although the lane belongs to this CPU, because a program can be
	 * preempted between load and store. */
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

/* Returns the flags for submitting a record. Waking user space costs 8 to 13 us, so only rows of
 * rare events set GP_ROW_WAKE. */
static __always_inline __u64 gp_wakeup(const struct gp_row *row)
{
	return row->flags & GP_ROW_WAKE ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
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

	if (!gp_match_link(regs, &at))
		return 0;
	if (!gp_match_only(regs, at.row)) {
		/* The hit is counted because it costs time like any other hit. User space reads
		 * this count only for rows with max_hz. */
		if (at.row->max_hz)
			gp_unsent(&at);
		return 0;
	}
	if (at.row->flags & GP_ROW_ARMS)
		gp_epoch_begin(at.slot);
	if (at.row->flags & GP_ROW_ONCE && gp_sent_once(at.id, at.slot, at.index)) {
		gp_unsent(&at); /* the hit costs time like any other, so it is counted */
		return 0;
	}
	if (gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_hit, sizeof(rec->p), at.row->probe);
	rec->p.sp = at.row->nargs > 2 ? gp_value(regs, &at.row->arg[2]) : regs->sp;
	rec->p.arg[0] = gp_value(regs, &at.row->arg[0]);
	rec->p.arg[1] = gp_value(regs, &at.row->arg[1]);
	bpf_ringbuf_submit(rec, gp_wakeup(at.row));
	return 0;
}

/* Returns true if the row sends only names with certain prefixes, and this name has none of
 * them. */
static __always_inline bool gp_unnamed(const struct gp_regs *regs, const struct gp_row *row)
{
	char first[16] = "";

	if (!(row->flags & GP_ROW_KEPT_ONLY))
		return false;
	gp_text(regs, row, first, sizeof(first));
	return !gp_name_kept(row, *(__u64 *)first);
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

	if (!gp_match(regs, &at) || gp_unnamed(regs, at.row) || gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_named, sizeof(rec->p), at.row->probe);
	rec->p.arg[0] = gp_value(regs, &at.row->arg[0]);
	rec->p.arg[1] = gp_value(regs, &at.row->arg[1]);
	gp_text(regs, at.row, rec->p.name, sizeof(rec->p.name));
	bpf_ringbuf_submit(rec, gp_wakeup(at.row));
	return 0;
}

struct gp_range_begin_rec {
	struct gp_rec h;
	struct gp_range_begin p;
};

/* Sends the begin of a range; returns false if there was no room. The name is read directly into
 * the ring, because a buffer on the stack would have to be zeroed and copied at every hit. So bytes
 * after the end of the name are from older records. */
static __always_inline bool gp_range_send(struct gp_regs *regs, const struct gp_at *at, __u32 depth)
{
	struct gp_range_begin_rec *rec;
	__u32 len = 1;
	bool kept;

	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec) {
		gp_lose(GP_LOSS_ring_call);
		return false;
	}
	*(__u64 *)rec->p.name = 0;
	if (at->row->string)
		len = gp_text(regs, at->row, rec->p.name, sizeof(rec->p.name));
	kept = gp_name_kept(at->row, *(__u64 *)rec->p.name);
	if (kept && at->row->flags & GP_ROW_ARMS)
		gp_epoch_begin(at->slot);
	if (at->row->max_hz && !kept && gp_name_over_rate(at, rec->p.name, len)) {
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

SEC("uprobe")
int gp_range_begin(struct gp_regs *regs)
{
	struct gp_thread *thread, *fast;
	struct gp_at at;
	__u32 depth;

	if (!gp_match(regs, &at))
		return 0;
	/* The end of a range without a name cannot be matched with its begin, so such ranges are
	 * not counted as open. */
	if (at.row->flags & GP_ROW_ANON) {
		thread = gp_thread_find(at.id, &fast);
		gp_range_send(regs, &at, thread ? thread->depth : 0);
		return 0;
	}
	thread = gp_thread_get(at.id);
	if (!thread)
		return gp_lose(GP_LOSS_stack_full);
	/* Programs do not nest ranges that deep. So ranges were left open, or closed on other
	 * threads. Forget all open ranges, so that later begins and ends match again. */
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
		call.arg[i] = i < at.row->nargs ? gp_value_early(regs, &at.row->arg[i]) : 0;
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

/* Called for a return without an open call: counts it as lost if the process is watched. (A return
 * with an open call needs no such check, because only watched processes have open calls.) */
static __always_inline int gp_unpaired(const struct gp_at *at)
{
	__u32 slot;

	if (at->row->only.source == GP_SRC_NONE && !at->row->next &&
	    gp_is_watched(at->id >> 32, &slot) && !gp_is_silent())
		gp_lose(GP_LOSS_unpaired);
	return 0;
}

/* Returns true if no record is to be sent, because the row's `unless` contains a value of this
 * call. */
static __always_inline bool gp_call_usual(const struct gp_row *row, const __u64 arg[GP_ARGS],
					  __u64 ret)
{
	__u64 value = ret;

	if (row->unless_of == GP_UNLESS_NONE)
		return false;
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++)
		if (row->unless_of == GP_UNLESS_ARG + i)
			value = arg[i];
#pragma unroll
	for (int i = 0; i < GP_UNLESS; i++)
		if (i < row->nunless && row->unless[i] == (__s32)value)
			return true;
	return false;
}

SEC("uprobe")
int gp_return(struct gp_regs *regs)
{
	struct gp_open_call *open;
	struct gp_call_rec *rec;
	struct gp_at at;
	__u64 key, start_ns, arg[GP_ARGS], ret;

	if (!gp_row_find_return(regs, &at))
		return 0;
	at.id = bpf_get_current_pid_tgid();
	key = at.id << 32 | at.index;
	open = bpf_map_lookup_elem(&gp_open_calls, &key);
	if (!open || !open->ts_ns)
		return at.row->flags & GP_ROW_UNSENT ? 0 : gp_unpaired(&at);
	start_ns = open->ts_ns;
	open->ts_ns = 0;
	ret = GP_LOAD(regs, GP_RET);
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++)
		arg[i] = i < at.row->nargs ? gp_value_late(open->arg[i], &at.row->arg[i]) : 0;
	if (gp_call_usual(at.row, arg, ret) || gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_call, sizeof(rec->p), at.row->probe);
	rec->p.dur_ns = rec->h.ts_ns - start_ns;
	rec->p.ret = ret;
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++)
		rec->p.arg[i] = arg[i];
	bpf_ringbuf_submit(rec, gp_wakeup(at.row));
	return 0;
}

struct gp_monitor_rec {
	struct gp_rec h;
	struct gp_monitor p;
};

/* State of sending the entries of one torch.monitor event */
struct gp_monitor_at {
	struct gp_walk walk;
	__u64 id;
	__u32 probe;
	__u32 index; /* index of the entry that is sent next */
};

/* Sends one entry of a torch.monitor event. Returns 0 if no further entry can be read. It is a
 * global function, which the verifier checks only once. The verifier of Linux 6.1 would not finish
 * if it had to check it for each iteration of the caller's loop. */
__attribute__((noinline)) int gp_monitor_send(struct gp_monitor_at *at)
{
	struct gp_monitor_rec *rec;
	bool more;

	if (!at)
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec) {
		gp_lose(GP_LOSS_ring_call);
		return 0;
	}
	gp_head(&rec->h, at->id, GP_KIND_monitor, sizeof(rec->p), at->probe);
	__builtin_memset(rec->p.reserved, 0, sizeof(rec->p.reserved));
	rec->p.wall_ns = at->walk.wall_ns;
	rec->p.index = at->index;
	rec->p.count = at->walk.count;
	more = gp_walk_entry(&at->walk, &rec->p);
	if (!gp_walk_text(rec->p.event, sizeof(rec->p.event), at->walk.name)) {
		rec->p.type = GP_MONITOR_NONE;
		more = false;
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return more;
}

SEC("uprobe")
int gp_monitor(struct gp_regs *regs)
{
	struct gp_monitor_at entry;
	struct gp_at at;

	if (!gp_match(regs, &at) || gp_over_rate(&at))
		return 0;
	if (!gp_walk_begin(&entry.walk, gp_value(regs, &at.row->arg[0])))
		return gp_lose(GP_LOSS_read_fault);
	entry.id = at.id;
	entry.probe = at.row->probe;
	/* i is not a field of entry, because the verifier forgets values that a called function may
	 * change. */
	for (__u32 i = 0; i < GP_MONITOR_MAX; i++) {
		entry.index = i;
		if (!gp_monitor_send(&entry) || i + 1 >= entry.walk.count)
			break;
	}
	return 0;
}

struct gp_operation_rec {
	struct gp_rec h;
	struct gp_operation p;
};

/* Copies size bytes from an address of the process; fills with 0 if they cannot be read. This is
 * not counted as a loss, because the reader of the record notices it. */
static __always_inline void gp_copy(void *to, __u32 size, __u64 from)
{
	if (!from || bpf_probe_read_user(to, size, (void *)from))
		__builtin_memset(to, 0, size);
}

SEC("uprobe")
int gp_operation(struct gp_regs *regs)
{
	struct gp_operation_rec *rec;
	struct gp_at at;

	if (!gp_match(regs, &at) || gp_over_rate(&at))
		return 0;
	rec = bpf_ringbuf_reserve(&gp_ring_call, sizeof(*rec), 0);
	if (!rec)
		return gp_lose(GP_LOSS_ring_call);
	gp_head(&rec->h, at.id, GP_KIND_operation, sizeof(rec->p), at.row->probe);
#pragma unroll
	for (int i = 0; i < GP_ARGS; i++) {
		const struct gp_capture *c = &at.row->arg[i];
		__u64 value = i < at.row->nargs ? gp_value(regs, c) : 0;

		rec->p.value[i] = value;
		gp_copy(rec->p.list[i], sizeof(rec->p.list[i]),
			c->flags & GP_CAPTURE_LIST ? value : 0);
		if (i < GP_TENSORS)
			gp_copy(rec->p.tensor[i], sizeof(rec->p.tensor[i]),
				c->flags & GP_CAPTURE_TENSOR && value ? value + GP_TENSOR_AT : 0);
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}
