/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* unwatched.bpf.c - reports a process that is not watched when it is about to map a library named
 * in a probe file. The node service finds jobs by these reports; this object is loaded only for the
 * node service. */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "bpf/gp_fd.h"
#include "bpf/gp_kernel.h"
#include "bpf/gp_life.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PROT_EXEC   4 /* as in the kernel's include/uapi/asm-generic/mman-common.h */
#define MAP_PRIVATE 2 /* as in the kernel's include/uapi/linux/mman.h */
/* Minimum time (ns) between two reports of a process. User space scans all its mappings after each
 * report, and again after this time. */
#define GP_UNWATCHED_NS 100000000ull

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GP_PREFIXES_MAX);
	__type(key, __u32);
	__type(value, struct gp_prefix);
} gp_prefixes SEC(".maps");

/* Time of the last report of each process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GP_UNWATCHED_MAX);
	__type(key, __u32);
	__type(value, __u64);
} gp_unwatched_at SEC(".maps");

static __always_inline bool gp_begins(const __u64 name[2])
{
	for (__u32 i = 0; i < GP_PREFIXES_MAX; i++) {
		/* index is a copy of i: the verifier up to Linux 6.1 forgets the value of a counter
		 * whose address is passed. */
		__u32 index = i;
		const struct gp_prefix *p = bpf_map_lookup_elem(&gp_prefixes, &index);

		if (!p || !p->mask[0])
			return false;
		if ((name[0] & p->mask[0]) == p->text[0] && (name[1] & p->mask[1]) == p->text[1])
			return true;
	}
	return false;
}

/* "memfd:", the beginning of the names that memfd_create(2) gives */
#define GP_MEMFD      0x3a64666d656dull
#define GP_MEMFD_MASK 0xffffffffffffull

/* Returns true if the name of the file begins like that of a library in a probe file. Reads
 * sizeof(text) bytes, which the kernel's name buffer always has; bytes after the end of a short
 * name match no prefix. A file in memory (memfd) may be a library, whatever its name, if the
 * mapping is private: run-time compilers use shared mappings. */
static __always_inline bool gp_name_matches(__u32 fd, bool is_private)
{
	struct dentry *dentry = BPF_CORE_READ(gp_file_of(fd), f_path.dentry);
	__u64 text[2] = {};
	struct qstr name = {};

	bpf_core_read(&name, sizeof(name), &dentry->d_name);
	bpf_probe_read_kernel(text, sizeof(text), name.name);
	if ((text[0] & GP_MEMFD_MASK) == GP_MEMFD)
		return is_private;
	return gp_begins(text);
}

struct gp_unwatched_rec {
	struct gp_rec h;
	struct gp_unwatched p;
};

SEC("tp/syscalls/sys_enter_mmap")
int gp_unwatched_map(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid(), now_ns, *last;
	const struct task_struct *task;
	struct gp_unwatched_rec *rec;
	__u32 tgid = id >> 32;

	if (!(call->arg[2] & PROT_EXEC) || (int)call->arg[4] < 0)
		return 0;
	if (bpf_map_lookup_elem(&gp_watched, &tgid) || gp_is_silent() ||
	    !gp_name_matches(call->arg[4], call->arg[3] & MAP_PRIVATE))
		return 0;
	now_ns = bpf_ktime_get_ns();
	last = bpf_map_lookup_elem(&gp_unwatched_at, &tgid);
	if (last && now_ns - *last < GP_UNWATCHED_NS)
		return 0;
	bpf_map_update_elem(&gp_unwatched_at, &tgid, &now_ns, BPF_ANY);
	if (gp_life_crowded())
		return gp_lose(GP_LOSS_ring_life);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, id, GP_KIND_unwatched, sizeof(rec->p), 0);
	task = (const struct task_struct *)bpf_get_current_task();
	rec->p.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}
