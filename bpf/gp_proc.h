/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_proc.h - reports the life of watched processes: fork (children are watched, too), exec, exit,
 * signals that may end them, with the sender, victims of the out-of-memory killer, and files that
 * are about to be mapped executable. */
#ifndef GP_PROC_H
#define GP_PROC_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "bpf/gp_kernel.h"
#include "bpf/gp_life.h"

#define PROT_EXEC	     4 /* as in the kernel's include/uapi/asm-generic/mman-common.h */
#define TRACE_SIGNAL_IGNORED 1 /* as in the kernel's include/trace/events/signal.h */

/* Signals that are not reported: those that do not end a process by default, and three that only
 * the timers of a process send. (The SIGPROF of a profiler arrives a thousand times a second.) */
#define GP_SIG_BIT(n) (1u << (n))
static const __u32 signals_harmless = GP_SIG_BIT(17) /* CHLD */ | GP_SIG_BIT(18) /* CONT */ |
				      GP_SIG_BIT(19) /* STOP */ | GP_SIG_BIT(20) /* TSTP */ |
				      GP_SIG_BIT(21) /* TTIN */ | GP_SIG_BIT(22) /* TTOU */ |
				      GP_SIG_BIT(23) /* URG */ | GP_SIG_BIT(28) /* WINCH */ |
				      GP_SIG_BIT(14) /* ALRM */ | GP_SIG_BIT(26) /* VTALRM */ |
				      GP_SIG_BIT(27) /* PROF */;

static __always_inline void gp_forget_ranges(__u32 tid)
{
	__u32 index = tid % GP_FAST_MAX;
	struct gp_thread *fast = bpf_map_lookup_elem(&gp_threads_fast, &index);

	if (fast && fast->tid == tid) {
		fast->tid = 0;
		/* written last, because other threads can take the entry from now on */
		*(volatile __u64 *)&fast->claims = 0;
	}
}

/* Deletes the open ranges of a thread that has ended, and its open calls, which will never
 * return. */
static __always_inline void gp_forget_thread(__u32 tid)
{
	gp_forget_ranges(tid);
	bpf_map_delete_elem(&gp_threads, &tid);
	for (__u32 i = 0; i < GP_RETURN_ROWS_MAX; i++) {
		/* index is a copy of i: the verifier up to Linux 6.1 forgets the value of a counter
		 * whose address is passed. */
		__u32 index = i;
		__u64 key, *row = bpf_map_lookup_elem(&gp_return_rows, &index);

		if (!row || !*row)
			break;
		key = (__u64)tid << 32 | (__u32)(*row - 1);
		bpf_map_delete_elem(&gp_open_calls, &key);
	}
}

static __always_inline void gp_fast_set(__u32 tgid, __u32 slot)
{
	__u32 index = tgid % GP_FAST_MAX;
	__u64 *fast = bpf_map_lookup_elem(&gp_watched_fast, &index);

	if (fast && !*fast)
		*fast = GP_FAST(tgid, slot);
}

static __always_inline void gp_fast_clear(__u32 tgid)
{
	__u32 index = tgid % GP_FAST_MAX;
	__u64 *fast = bpf_map_lookup_elem(&gp_watched_fast, &index);

	if (fast && (__u32)*fast == tgid)
		*fast = 0;
}

struct gp_fork_rec {
	struct gp_rec h;
	struct gp_fork p;
};

SEC("tp_btf/sched_process_fork")
int BPF_PROG(gp_forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = parent->tgid, to = child->tgid, slot = 0;
	struct gp_watch *watch, next;
	struct gp_fork_rec *rec;
	__u64 *owner, pid = to;

	watch = bpf_map_lookup_elem(&gp_watched, &from);
	/* Nothing is reported if the parent is not watched, or if this is a thread and not a
	 * process. */
	if (!watch || (__u32)child->pid != to)
		return 0;
	next = (struct gp_watch){.start_ns = child->start_boottime};
	/* While gp-bpf replaces the BPF programs by those of another version, the old and the new
	 * ones run. Only the program that runs first reports the fork. */
	watch = bpf_map_lookup_elem(&gp_watched, &to);
	if (watch && watch->start_ns == next.start_ns)
		return 0;
	if (bpf_map_pop_elem(&gp_free_slots, &slot)) {
		slot = 0;
		gp_lose(GP_LOSS_slots_full);
	}
	next.slot = slot;
	owner = bpf_map_lookup_elem(&gp_slot_owner, &slot);
	if (owner && slot)
		*owner = pid;
	if (bpf_map_update_elem(&gp_watched, &to, &next, BPF_ANY)) {
		if (slot)
			bpf_map_push_elem(&gp_free_slots, &slot, 0);
		return gp_lose(GP_LOSS_watch_full);
	}
	gp_fast_set(to, slot);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, bpf_get_current_pid_tgid(), GP_KIND_fork, sizeof(rec->p), 0);
	rec->p = (struct gp_fork){.start_ns = next.start_ns, .child = to, .slot = slot};
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_exec_rec {
	struct gp_rec h;
	struct gp_exec p;
};

SEC("tp_btf/sched_process_exec")
int BPF_PROG(gp_execed, struct task_struct *task, __u32 old_tid)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32;
	struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);
	struct gp_exec_rec *rec;

	if (!watch)
		return 0;
	gp_forget_thread(tgid);
	if (old_tid != tgid) /* execve() was called by a thread other than the first one */
		gp_forget_thread(old_tid);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, id, GP_KIND_exec, sizeof(rec->p), 0);
	rec->p.start_ns = task->start_boottime;
	bpf_get_current_comm(rec->p.comm, sizeof(rec->p.comm));
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_exit_rec {
	struct gp_rec h;
	struct gp_exit p;
};

SEC("tp_btf/sched_process_exit")
int BPF_PROG(gp_exited, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);
	struct gp_exit_rec *rec;
	struct gp_watch last;

	if (!watch) {
		/* The process may have been watched before, and the thread may still have open
		 * ranges of that time. */
		gp_forget_ranges(task->pid);
		return 0;
	}
	last = *watch;
	gp_forget_thread(task->pid);
	/* If the last two threads end at the same time, both may see no other thread alive. The one
	 * that deletes the entry reports the exit. */
	if (task->signal->live.counter || bpf_map_delete_elem(&gp_watched, &tgid))
		return 0;
	gp_fast_clear(tgid);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, (__u64)tgid << 32 | (__u32)task->pid, GP_KIND_exit, sizeof(rec->p), 0);
	rec->p.start_ns = last.start_ns;
	rec->p.status = task->signal->group_exit_code;
	if (!rec->p.status)
		rec->p.status = task->exit_code;
	rec->p.slot = last.slot;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_signal_rec {
	struct gp_rec h;
	struct gp_signal p;
};

/* Limits of signal records per second and process: GP_SIGNALS_HANDLED for signals with a handler,
 * GP_SIGNALS_OTHER for signals that may end the process. The second limit is larger, so that the
 * signal that ended the process is recorded. */
#define GP_SIGNALS_HANDLED 8
#define GP_SIGNALS_OTHER   32

/* Whether the kernel has the feature kernel_read; set before loading. gp_handled() needs it,
 * because a direct load cannot index an array by a variable. */
const volatile bool gp_kernel_read = true;

/* Returns true if the process has a handler for the signal. Returns false, too, if the handler
 * cannot be read, so that the larger of the two rate limits applies. */
static __always_inline bool gp_handled(const struct task_struct *task, int sig)
{
	struct sighand_struct *hand = NULL;
	__u64 handler = 0;

	if (!gp_kernel_read || sig < 1 || sig > 64)
		return false;
	bpf_core_read(&hand, sizeof(hand), &task->sighand);
	bpf_probe_read_kernel(&handler, sizeof(handler),
			      (void *)hand + bpf_core_field_offset(struct sighand_struct, action) +
				      (__u64)(sig - 1) * bpf_core_type_size(struct k_sigaction));
	return handler > 1; /* SIG_DFL, SIG_IGN */
}

/* Counts a signal record, and returns true if the process has reached its limit for this second.
 * There is no lock, so a few records more may pass. */
static __always_inline bool gp_signal_over(struct gp_watch *watch, bool handled)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - watch->signal_ns > GP_SECOND_NS) {
		watch->signal_ns = now_ns;
		watch->signals[0] = watch->signals[1] = 0;
	}
	if (handled)
		return watch->signals[0]++ >= GP_SIGNALS_HANDLED || gp_life_crowded();
	return watch->signals[1]++ >= GP_SIGNALS_OTHER;
}

/* Reports a signal. info is a pointer, or 0 (SEND_SIG_NOINFO, as from kill(2)), or 1
 * (SEND_SIG_PRIV, from the kernel). */
static __always_inline int gp_signal(int sig, const void *info, int code, struct task_struct *task,
				     int result)
{
	struct gp_signal_rec *rec;
	__u32 target = task->tgid;
	struct gp_watch *watch;

	if (result == TRACE_SIGNAL_IGNORED || sig <= 0 || (sig < 32 && signals_harmless >> sig & 1))
		return 0;
	watch = bpf_map_lookup_elem(&gp_watched, &target);
	if (!watch)
		return 0;
	if (gp_signal_over(watch, gp_handled(task, sig)))
		return gp_lose(GP_LOSS_rate_limited);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, (__u64)target << 32 | (__u32)task->pid, GP_KIND_signal, sizeof(rec->p), 0);
	__builtin_memset(&rec->p, 0, sizeof(rec->p));
	rec->p.signal = sig;
	rec->p.code = code;
	/* si_code > 0: the kernel sent the signal (SI_FROMKERNEL in
	 * include/uapi/asm-generic/siginfo.h) */
	if ((unsigned long)info != 1 && code <= 0) {
		rec->p.sender = bpf_get_current_pid_tgid() >> 32;
		bpf_get_current_comm(rec->p.comm, sizeof(rec->p.comm));
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(gp_signalled, int sig, struct kernel_siginfo *info, struct task_struct *task,
	     int group, int result)
{
	return gp_signal(sig, info, (unsigned long)info > 1 ? info->si_code : 0, task, result);
}

/* The tracepoint's info can be 1, so newer verifiers (7.3, and stable updates of 6.12) treat it as
 * a number. Kernels with these verifiers have this cast (since v6.2, a35b9af4ec2c), and reading
 * through the cast is as safe as a direct access. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

SEC("tp_btf/signal_generate")
int BPF_PROG(gp_signalled_cast, int sig, void *info, struct task_struct *task, int group,
	     int result)
{
	struct kernel_siginfo *si;
	int code = 0;

	if ((unsigned long)info > 1) {
		si = bpf_rdonly_cast(info, bpf_core_type_id_kernel(struct kernel_siginfo));
		code = si->si_code;
	}
	return gp_signal(sig, info, code, task, result);
}

struct gp_oom_rec {
	struct gp_rec h;
	struct gp_oom p;
};

SEC("tp_btf/mark_victim")
int gp_victim(__u64 *ctx)
{
	struct gp_oom_rec *rec;
	__u32 pid;

	/* Since v6.9 (72ba14deb40a) the argument of the tracepoint is the task, and the event has a
	 * uid. Before, the argument was a pid. */
	if (bpf_core_field_exists(((struct trace_event_raw_mark_victim *)0)->uid))
		pid = ((struct task_struct *)ctx[0])->tgid;
	else
		pid = ctx[0];
	if (!bpf_map_lookup_elem(&gp_watched, &pid))
		return 0;
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, (__u64)pid << 32, GP_KIND_oom, sizeof(rec->p), 0);
	rec->p.reserved = 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

struct gp_map_rec {
	struct gp_rec h;
	struct gp_map p;
};

/* Minimum time (ns) between two gp_map records of a process. This is sufficient, because user space
 * scans the process twice, some milliseconds later. */
#define GP_MAP_NS 1000000ull

SEC("tp/syscalls/sys_enter_mmap")
int gp_mapping(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32;
	struct gp_map_rec *rec;
	struct gp_watch *watch;
	__u64 now_ns;

	if (!(call->arg[2] & PROT_EXEC) || (int)call->arg[4] < 0)
		return 0;
	watch = bpf_map_lookup_elem(&gp_watched, &tgid);
	if (!watch)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (now_ns - watch->mapped_ns < GP_MAP_NS)
		return 0;
	watch->mapped_ns = now_ns;
	if (gp_life_crowded())
		return gp_lose(GP_LOSS_ring_life);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, id, GP_KIND_map, sizeof(rec->p), 0);
	rec->p.reserved = 0;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
