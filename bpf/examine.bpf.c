/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* examine.bpf.c - measures what a few threads wait for, and which processes run while these threads
 * wait for a CPU. Attached for some seconds only, as the programs run at each switch and wakeup of
 * the machine. Sums are kept in maps; nothing is sent. */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "bpf/gp_fd.h"
#include "bpf/gp_private.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Whether the kernel has feature kernel_read; set before loading. */
const volatile bool gp_exam_reads = true;

struct gp_exam_scan gp_exam_scan;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	__u32 cpu;
};

struct task_struct___exam {
	char comm[16];
	unsigned int in_iowait : 1;
	struct thread_info thread_info;
};

struct task_struct___cpu { /* as in kernels before v5.16 (bcf9033e5449) */
	unsigned int cpu;
};

struct pt_regs___exam {
#ifdef __TARGET_ARCH_arm64
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
#else
	unsigned long si, di, orig_ax;
#endif
};

struct file___exam {
	void *private_data;
};

struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport;
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct gendisk {
	int major, first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	__u64 start_time_ns;
};

#pragma clang attribute pop

#define GP_AF_INET   2 /* as in the kernel's include/linux/socket.h */
#define GP_AF_INET6  10
#define GP_TYPE_SOCK (0140000 >> 12)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GP_EXAM_THREADS);
	__type(key, __u32);
	__type(value, struct gp_exam_thread);
} gp_exam_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_EXAM_WAITS);
	__type(key, struct gp_exam_key);
	__type(value, struct gp_exam_wait);
} gp_exam_waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_EXAM_RAN);
	__type(key, struct gp_exam_pair);
	__type(value, struct gp_exam_ran);
} gp_exam_ran SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GP_EXAM_DEVICES);
	__type(key, __u64); /* major << 32 | minor */
	__type(value, struct gp_exam_device);
} gp_exam_devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gp_exam_cpu);
} gp_exam_cpus SEC(".maps");

/* ---- the cost of an examination -------------------------------------------------------------- */

/* Counts a run of a BPF program on this CPU. Returns NULL when the examination is over. */
static __always_inline struct gp_exam_cpu *gp_exam_begin(__u64 now_ns)
{
	__u32 only = 0;
	struct gp_exam_cpu *cpu = bpf_map_lookup_elem(&gp_exam_cpus, &only);

	if (!cpu || now_ns > gp_exam_scan.until_ns)
		return NULL;
	cpu->runs++;
	return cpu;
}

static __always_inline int gp_exam_end(struct gp_exam_cpu *cpu, __u64 now_ns)
{
	__u64 took_ns;

	if (cpu->runs % GP_EXAM_TIMED)
		return 0;
	took_ns = bpf_ktime_get_ns() - now_ns;
	cpu->cost_ns += GP_EXAM_TIMED * (took_ns < GP_EXAM_TIMED_MAX ? took_ns : GP_EXAM_TIMED_MAX);
	return 0;
}

/* ---- reasons --------------------------------------------------------------------------------- */

static __always_inline __u8 gp_exam_call_kind(__u32 number)
{
	if (number >= GP_EXAM_CALLS)
		return GP_EXAM_CALL_OTHER;
	/* The compiler must not drop the mask, by which the verifier knows that the index is
	 * within the array. */
	asm volatile("" : "+r"(number));
	return gp_exam_scan.call[number & (GP_EXAM_CALLS - 1)];
}

/* Finds the system call of the thread that is current, and its descriptor. */
static __always_inline void gp_exam_call(struct task_struct *task, struct gp_exam_key *key)
{
	struct pt_regs___exam *regs = (struct pt_regs___exam *)bpf_task_pt_regs(task);
	__u64 first, second;
	__u8 kind;

#ifdef __TARGET_ARCH_arm64
	key->syscall = regs->syscallno;
	first = regs->orig_x0;
	second = regs->regs[1];
#else
	key->syscall = regs->orig_ax;
	first = regs->di;
	second = regs->si;
#endif
	key->fd = -1;
	kind = gp_exam_call_kind(key->syscall);
	if (kind == GP_EXAM_CALL_FD)
		key->fd = first;
	else if (kind == GP_EXAM_CALL_POLL && second == 1 &&
		 bpf_probe_read_user(&key->fd, sizeof(key->fd), (void *)first))
		key->fd = -1;
}

static __always_inline struct file *gp_exam_file(struct gp_exam_key *key)
{
	struct file *file;
	struct inode *inode;
	__u16 mode = 0;

	if (!gp_exam_reads || key->fd < 0)
		return NULL;
	file = gp_file_of(key->fd);
	if (!file)
		return NULL;
	inode = BPF_CORE_READ(file, f_inode);
	bpf_core_read(&mode, sizeof(mode), &inode->i_mode);
	key->type = mode >> 12;
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->flags |= GP_EXAM_KNOWN;
	return file;
}

static __always_inline struct sock *gp_exam_sock(struct file *file, struct gp_exam_key *key)
{
	struct socket *socket;
	unsigned short family;
	struct sock *sock;

	if (!file || key->type != GP_TYPE_SOCK)
		return NULL;
	socket = BPF_CORE_READ((struct file___exam *)file, private_data);
	sock = BPF_CORE_READ(socket, sk);
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family != GP_AF_INET && family != GP_AF_INET6)
		return NULL;
	key->flags |= GP_EXAM_INET;
	return sock;
}

/* Adds an entry for a reason of waits, with the name of its file. The thread that begins to wait
 * must be current. */
static __always_inline void gp_exam_wait_new(struct gp_exam_key *key, struct file *file,
					     struct sock *sock)
{
	struct gp_exam_wait wait = {};

	if (sock) {
		wait.port = BPF_CORE_READ(sock, __sk_common.skc_dport);
		if (BPF_CORE_READ(sock, __sk_common.skc_family) == GP_AF_INET)
			wait.address = BPF_CORE_READ(sock, __sk_common.skc_daddr);
	} else if (file) {
		bpf_probe_read_kernel_str(wait.name, sizeof(wait.name),
					  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	}
	if (!bpf_map_update_elem(&gp_exam_waits, key, &wait, BPF_NOEXIST))
		return;
	/* The map is full: all files of a kind share an entry. */
	key->ino = 0;
	key->dev = 0;
	key->fd = -1;
	__builtin_memset(&wait, 0, sizeof(wait));
	bpf_map_update_elem(&gp_exam_waits, key, &wait, BPF_NOEXIST);
}

static __noinline int gp_exam_sleeps(struct task_struct *task, struct gp_exam_thread *t, __u32 i)
{
	struct gp_exam_key key = {.thread = i};
	struct file *file;
	struct sock *sock;

	gp_exam_call(task, &key);
	if (BPF_CORE_READ_BITFIELD((struct task_struct___exam *)task, in_iowait))
		key.flags |= GP_EXAM_IO;
	file = gp_exam_file(&key);
	sock = gp_exam_sock(file, &key);
	if (!bpf_map_lookup_elem(&gp_exam_waits, &key))
		gp_exam_wait_new(&key, file, sock);
	t->key = key;
	return 0;
}

/* ---- events of a thread ---------------------------------------------------------------------- */

/* Handles the first event of a thread that was not on a CPU when the examination began. woken: the
 * thread was waiting for a CPU then; otherwise it was asleep. */
static __always_inline void gp_exam_first(struct gp_exam_thread *t, __u32 i, bool woken)
{
	if (t->seen)
		return;
	t->seen = 1;
	t->left_ns = gp_exam_scan.from_ns;
	t->woken_ns = woken ? gp_exam_scan.from_ns : 0;
	t->key.thread = i;
	t->key.syscall = GP_EXAM_BEFORE;
	t->key.fd = -1;
}

static __always_inline void gp_exam_left(struct task_struct *task, __u32 i, __u32 cpu, bool asleep,
					 __u64 now_ns)
{
	struct gp_exam_thread *t = bpf_map_lookup_elem(&gp_exam_threads, &i);

	if (!t)
		return;
	t->seen = 1;
	t->left_ns = now_ns;
	t->woken_ns = asleep ? 0 : now_ns;
	gp_exam_scan.waits_on[i & (GP_EXAM_THREADS - 1)] = asleep ? 0 : cpu + 1;
	if (asleep)
		gp_exam_sleeps(task, t, i);
}

static __always_inline void gp_exam_came(__u32 i, __u64 now_ns)
{
	struct gp_exam_thread *t = bpf_map_lookup_elem(&gp_exam_threads, &i);
	struct gp_exam_wait *wait;
	__u64 woken_ns, asleep_ns;

	gp_exam_scan.waits_on[i & (GP_EXAM_THREADS - 1)] = 0;
	if (!t)
		return;
	gp_exam_first(t, i, true);
	if (!t->left_ns)
		return;
	woken_ns = t->woken_ns ? t->woken_ns : now_ns;
	asleep_ns = woken_ns - t->left_ns;
	t->runnable_ns += now_ns - woken_ns;
	t->left_ns = 0;
	if (!asleep_ns)
		return;
	wait = bpf_map_lookup_elem(&gp_exam_waits, &t->key);
	if (!wait)
		return;
	wait->ns += asleep_ns;
	wait->count++;
	wait->slow += asleep_ns >= GP_EXAM_SLOW_NS;
	if (asleep_ns > wait->worst_ns)
		wait->worst_ns = asleep_ns;
}

/* Functions that are not static are verified once, not for each path to them: without that the
 * verifier would follow more paths than it allows. */

/* Returns the index of an examined thread, or GP_EXAM_THREADS. */
__noinline __u32 gp_exam_find(__u32 tid)
{
	for (__u32 i = 0; i < GP_EXAM_THREADS; i++) {
		if (i >= gp_exam_scan.count)
			break;
		if (gp_exam_scan.tid[i] == tid)
			return i;
	}
	return GP_EXAM_THREADS;
}

/* Adds the time that the current process ran on this CPU while thread i waited to run there. Call
 * when the process leaves the CPU; since_ns: when it came to the CPU. */
__noinline int gp_exam_instead(__u32 i, __u64 since_ns, __u64 now_ns)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct gp_exam_thread *t = bpf_map_lookup_elem(&gp_exam_threads, &i);
	struct gp_exam_pair pair = {.thread = i, .pid = task->tgid};
	const struct task_struct___exam *leader;
	struct gp_exam_ran *ran, none = {};

	if (!t || !t->woken_ns)
		return 0;
	ran = bpf_map_lookup_elem(&gp_exam_ran, &pair);
	if (!ran) {
		leader = (const struct task_struct___exam *)task->group_leader;
		none.comm[0] = ((const __u64 *)leader->comm)[0];
		none.comm[1] = ((const __u64 *)leader->comm)[1];
		bpf_map_update_elem(&gp_exam_ran, &pair, &none, BPF_NOEXIST);
		ran = bpf_map_lookup_elem(&gp_exam_ran, &pair);
	}
	if (ran)
		ran->ns += now_ns - (since_ns > t->woken_ns ? since_ns : t->woken_ns);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(gp_exam_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now_ns = bpf_ktime_get_ns(), since_ns;
	struct gp_exam_cpu *cpu = gp_exam_begin(now_ns);
	__u32 number = bpf_get_smp_processor_id(), i;

	if (!cpu)
		return 0;
	since_ns = cpu->since_ns;
	cpu->since_ns = now_ns;
	for (i = 0; i < GP_EXAM_THREADS; i++) {
		if (i >= gp_exam_scan.count)
			break;
		if (gp_exam_scan.waits_on[i] == number + 1)
			gp_exam_instead(i, since_ns, now_ns);
	}
	i = gp_exam_find(prev->pid);
	if (i < GP_EXAM_THREADS)
		gp_exam_left(prev, i, number, !preempt && prev_state, now_ns);
	i = gp_exam_find(next->pid);
	if (i < GP_EXAM_THREADS)
		gp_exam_came(i, now_ns);
	return gp_exam_end(cpu, now_ns);
}

static __always_inline __u32 gp_exam_cpu_of(const struct task_struct *task)
{
	const struct task_struct___exam *t = (const void *)task;

	if (bpf_core_field_exists(t->thread_info.cpu))
		return t->thread_info.cpu;
	return ((const struct task_struct___cpu *)task)->cpu;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(gp_exam_wakeup, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct gp_exam_cpu *cpu = gp_exam_begin(now_ns);
	struct gp_exam_thread *t;
	__u32 i;

	if (!cpu)
		return 0;
	i = gp_exam_find(task->pid);
	t = i < GP_EXAM_THREADS ? bpf_map_lookup_elem(&gp_exam_threads, &i) : NULL;
	if (t)
		gp_exam_first(t, i, false);
	if (t && t->left_ns && !t->woken_ns) {
		t->woken_ns = now_ns;
		gp_exam_scan.waits_on[i & (GP_EXAM_THREADS - 1)] = gp_exam_cpu_of(task) + 1;
	}
	return gp_exam_end(cpu, now_ns);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(gp_exam_migrate, struct task_struct *task, int to)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct gp_exam_cpu *cpu = gp_exam_begin(now_ns);
	__u32 i;

	if (!cpu)
		return 0;
	i = gp_exam_find(task->pid);
	if (i < GP_EXAM_THREADS && gp_exam_scan.waits_on[i & (GP_EXAM_THREADS - 1)])
		gp_exam_scan.waits_on[i & (GP_EXAM_THREADS - 1)] = to + 1;
	return gp_exam_end(cpu, now_ns);
}

/* ---- block I/O ------------------------------------------------------------------------------- */

SEC("tp_btf/block_rq_complete")
int BPF_PROG(gp_exam_block, struct request *rq)
{
	__u64 now_ns = bpf_ktime_get_ns(), took_ns, key;
	struct gp_exam_cpu *cpu = gp_exam_begin(now_ns);
	struct gp_exam_device *device, none = {};
	struct gendisk *disk;

	if (!cpu)
		return 0;
	disk = rq->q->disk;
	if (!disk || !rq->start_time_ns || rq->start_time_ns > now_ns)
		return 0;
	took_ns = now_ns - rq->start_time_ns;
	key = (__u64)disk->major << 32 | (__u32)disk->first_minor;
	device = bpf_map_lookup_elem(&gp_exam_devices, &key);
	if (!device) {
		bpf_map_update_elem(&gp_exam_devices, &key, &none, BPF_NOEXIST);
		device = bpf_map_lookup_elem(&gp_exam_devices, &key);
	}
	if (device) {
		__sync_fetch_and_add(&device->count, 1);
		__sync_fetch_and_add(&device->ns, took_ns);
		if (took_ns >= GP_EXAM_SLOW_NS)
			__sync_fetch_and_add(&device->slow, 1);
		if (took_ns > device->worst_ns)
			device->worst_ns = took_ns;
	}
	return gp_exam_end(cpu, now_ns);
}
