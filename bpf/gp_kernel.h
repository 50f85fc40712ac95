/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_kernel.h - kernel structures, with only the fields that are read, under the kernel's names.
 * libbpf adjusts each access to the running kernel (CO-RE), so no header generated from one kernel
 * is needed. Programs of types tp_btf and iter read fields directly. This works under kernel
 * lockdown, which forbids bpf_probe_read_kernel() (feature kernel_read). */
#ifndef GP_KERNEL_H
#define GP_KERNEL_H

#include <linux/types.h>

#define S_IFMT	0170000 /* as in the kernel's include/uapi/linux/stat.h */
#define S_IFREG 0100000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[64];
};

struct file;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	int pid, tgid;
	int exit_code;
	__u64 start_time, start_boottime;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct sighand_struct *sighand;
	struct files_struct *files;
};

struct kernel_siginfo {
	int si_code;
};

struct super_block {
	__u32 s_dev;
};

struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
	long long i_size;
	long long i_mtime_sec; /* kernels from v6.11 on have this field (3aa63a569c64) */
	__u32 i_mtime_nsec;
};

struct inode___v6_6 { /* kernels from v6.6 on have this field (13bc24457850) */
	struct timespec64 __i_mtime;
};

struct inode___v5 {
	struct timespec64 i_mtime;
};

struct qstr {
	union {
		__u64 hash_len; /* the upper half is the length of the name */
		__u32 hash;	/* hash of the name and of its parent folder */
	};
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* Only used to find out which arguments the tracepoint has. */
struct trace_event_raw_mark_victim {
	__u32 uid;
};

#pragma clang attribute pop

#endif
