/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_file.h - reports files that may be checkpoints, when a watched process writes, renames or
 * reads one.
 *
 * Type and name are read from the kernel's struct file, not from the arguments of the call. So one
 * program handles all ways to open a file, the name cannot change between check and use, and
 * relative paths need no special treatment. A file is reported if its name is typical of
 * checkpoints, if it is large (when written), or if a watched process wrote it before (when read).
 * User space decides if it is a checkpoint. Not seen are io_uring, and descriptors that are closed
 * by dup2(2), close_range(2) or the end of the process. */
#ifndef GP_FILE_H
#define GP_FILE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <stdbool.h>

#include "bpf/gp_fd.h"
#include "bpf/gp_kernel.h"
#include "bpf/gp_life.h"
#include "bpf/gp_regs.h"

#define FMODE_WRITE 2	  /* include/linux/fs.h */
#define O_TRUNC	    01000 /* as in the kernel's include/uapi/asm-generic/fcntl.h */
#define GP_EINTR    4

/* A written file of at least this size (bytes) is reported, whatever its name. */
#define GP_FILE_LARGE 65536
/* Maximum number of components of a path that are reported. From a longer path, the last components
 * are reported. */
#define GP_FILE_PARTS 8

/* Limits of records per second and process: GP_FILES_KNOWN for files that watched processes wrote,
 * GP_FILES_OTHER for other files. A checkpoint may have some hundred files; a data set may have any
 * number. */
#define GP_FILES_KNOWN 512
#define GP_FILES_OTHER 128

#define GP_WROTE_NS (600 * GP_SECOND_NS)

/* Packs eight characters into one word, in the order of memory. Ends and beginnings of file names
 * are compared as such words. */
#define GP_WORD(a, b, c, d, e, f, g, h)                                                            \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
/* mask for the last n of eight characters; GP_FIRST: the first n */
#define GP_LAST(n)  (~0ull << 8 * (8 - (n)))
#define GP_FIRST(n) (~0ull >> 8 * (8 - (n)))

#define GP_ENDS(X)                                                                                 \
	X(GP_WORD(0, 0, 0, 0, 0, '.', 'p', 't'), GP_LAST(3))                                       \
	X(GP_WORD(0, 0, 0, 0, 0, '.', 'h', '5'), GP_LAST(3))                                       \
	X(GP_WORD(0, 0, 0, 0, '.', 'p', 't', 'h'), GP_LAST(4))                                     \
	X(GP_WORD(0, 0, 0, 0, '.', 't', 'm', 'p'), GP_LAST(4))                                     \
	X(GP_WORD(0, 0, 0, 0, '.', 'b', 'i', 'n'), GP_LAST(4))                                     \
	X(GP_WORD(0, 0, 0, 0, '.', 'n', 'p', 'y'), GP_LAST(4))                                     \
	X(GP_WORD(0, 0, 0, 0, '.', 'n', 'p', 'z'), GP_LAST(4))                                     \
	X(GP_WORD(0, 0, 0, '.', 'c', 'k', 'p', 't'), GP_LAST(5))                                   \
	X(GP_WORD(0, 0, '.', 'i', 'n', 'd', 'e', 'x'), GP_LAST(6))                                 \
	X(GP_WORD(0, 0, '.', 'k', 'e', 'r', 'a', 's'), GP_LAST(6))                                 \
	X(GP_WORD(0, '.', 'd', 'i', 's', 't', 'c', 'p'), GP_LAST(7))                               \
	X(GP_WORD('e', 't', 'e', 'n', 's', 'o', 'r', 's'), GP_LAST(8)) /* .safetensors */          \
	X(GP_WORD('.', 'm', 's', 'g', 'p', 'a', 'c', 'k'), GP_LAST(8))

/* Matches .metadata, _METADATA and _CHECKPOINT_METADATA. A file that is only named METADATA is not
 * matched, because Python packages have one. */
#define GP_ENDS_LONGER(X)                                                                          \
	X(GP_WORD('m', 'e', 't', 'a', 'd', 'a', 't', 'a'), GP_LAST(8))                             \
	X(GP_WORD('M', 'E', 'T', 'A', 'D', 'A', 'T', 'A'), GP_LAST(8))

/* Files with these ends are never checkpoints, even if the rest of the name looks like one:
 * checkpoint.py, ckpt.cpython-313.pyc. */
#define GP_ENDS_CODE(X)                                                                            \
	X(GP_WORD(0, 0, 0, 0, 0, '.', 'p', 'y'), GP_LAST(3))                                       \
	X(GP_WORD(0, 0, 0, 0, '.', 'p', 'y', 'c'), GP_LAST(4))

#define GP_BEGINS(X)                                                                               \
	X(GP_WORD('c', 'h', 'e', 'c', 'k', 'p', 'o', 'i'), GP_FIRST(8))                            \
	X(GP_WORD('c', 'k', 'p', 't', 0, 0, 0, 0), GP_FIRST(4))                                    \
	X(GP_WORD('m', 'a', 'n', 'i', 'f', 'e', 's', 't'), GP_FIRST(8)) /* .ocdbt */

/* Buffer in which a path is built from its end to its beginning. */
struct gp_path {
	char text[2 * 256];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gp_path);
} gp_paths SEC(".maps");

/* Key: thread. Value: when the thread began to open a file with O_TRUNC. Truncating a large file
 * takes long. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} gp_openings SEC(".maps");

/* Key: thread. Value: record of the file that the thread is closing. Old entries are replaced
 * (LRU), because a thread may be killed before the call returns. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct gp_file);
} gp_closings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gp_file);
} gp_file_scratch SEC(".maps");

static __always_inline bool gp_is_sending(__u64 id)
{
	__u32 slot;

	return gp_is_watched(id >> 32, &slot) && !gp_is_silent();
}

/* ---- the kernel's file ----------------------------------------------------------------------- */

static __always_inline __u64 gp_mtime_ns(const struct inode *inode)
{
	const struct inode___v6_6 *second = (const void *)inode;
	const struct inode___v5 *first = (const void *)inode;

	if (bpf_core_field_exists(inode->i_mtime_sec))
		return BPF_CORE_READ(inode, i_mtime_sec) * 1000000000ull +
		       BPF_CORE_READ(inode, i_mtime_nsec);
	if (bpf_core_field_exists(second->__i_mtime))
		return BPF_CORE_READ(second, __i_mtime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(second, __i_mtime.tv_nsec);
	return BPF_CORE_READ(first, i_mtime.tv_sec) * 1000000000ull +
	       BPF_CORE_READ(first, i_mtime.tv_nsec);
}

static __always_inline bool gp_named(const struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	__u64 first = 0, last = 0;
	struct qstr name = {};
	__u32 len;

	bpf_core_read(&name, sizeof(name), &dentry->d_name);
	len = name.hash_len >> 32;
	if (len < 8)
		bpf_probe_read_kernel(&first, len & 7, name.name);
	else
		bpf_probe_read_kernel(&first, 8, name.name);
	if (len < 8)
		last = first << (64 - 8 * (len & 7)) % 64;
	else
		bpf_probe_read_kernel(&last, 8, name.name + len - 8);
#define X(value, mask) || (last & (mask)) == (value)
	if (false GP_ENDS(X))
		return true;
	if (len > 8 && (false GP_ENDS_LONGER(X)))
		return true;
	if (false GP_ENDS_CODE(X))
		return false;
#undef X
#define X(value, mask) || (first & (mask)) == (value)
	return false GP_BEGINS(X);
#undef X
}

static __always_inline void gp_path_of(const struct file *file, char *ret)
{
	struct dentry *parent = NULL, *dentry = BPF_CORE_READ(file, f_path.dentry);
	__u32 only = 0, len, at = GP_PATH_MAX - 1;
	struct gp_path *path = bpf_map_lookup_elem(&gp_paths, &only);
	struct qstr name;
	bool root = false;
	__u64 size;

	if (!path)
		return;
	for (int i = 0; i < GP_FILE_PARTS; i++) {
		bpf_core_read(&parent, sizeof(parent), &dentry->d_parent);
		root = parent == dentry;
		if (root)
			break;
		bpf_core_read(&name, sizeof(name), &dentry->d_name);
		len = name.hash_len >> 32;
		if (len + 1 > at)
			break;
		at -= len + 1;
		path->text[at & 0xff] = '/';
		bpf_probe_read_kernel(&path->text[(at & 0xff) + 1], len & 0xff, name.name);
		dentry = parent;
	}
	if (!root) { /* check whether the component read last is the first one of the path */
		bpf_core_read(&parent, sizeof(parent), &dentry->d_parent);
		root = parent == dentry;
	}
	at += !root && at < GP_PATH_MAX - 1;
	size = GP_PATH_MAX - 1 - at;
	/* keeps the compiler from using another register than the one that is checked: the verifier
	 * tracks registers */
	asm volatile("" : "+r"(size));
	if (size < GP_PATH_MAX)
		bpf_probe_read_kernel(ret, size, &path->text[at & 0xff]);
}

/* ---- records --------------------------------------------------------------------------------- */

struct gp_file_rec {
	struct gp_rec h;
	struct gp_file p;
};

/* Counts a file record, and returns true if the process has reached its limit for this second.
 * There is no lock, so a few records more may pass. */
static __always_inline bool gp_files_over(__u32 tgid, bool known)
{
	struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!watch)
		return true;
	if (now_ns - watch->file_ns > GP_SECOND_NS) {
		watch->file_ns = now_ns;
		watch->files[0] = watch->files[1] = 0;
	}
	if (known)
		return watch->files[0]++ >= GP_FILES_KNOWN;
	return watch->files[1]++ >= GP_FILES_OTHER;
}

static __always_inline void gp_wrote(__u32 tgid)
{
	struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);

	if (watch)
		watch->written_ns = bpf_ktime_get_ns();
}

/* Returns true if the process wrote a file in the last GP_WROTE_NS. Its renames are reported only
 * in this case, because compilers and package caches rename files all the time. */
static __always_inline bool gp_wrote_lately(__u32 tgid)
{
	const struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);

	return watch && watch->written_ns && bpf_ktime_get_ns() - watch->written_ns < GP_WROTE_NS;
}

static __always_inline void gp_file_fill(struct gp_file *p, const struct file *file,
					 const struct gp_file_open *open, enum gp_file_op op)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	__builtin_memset(p, 0, sizeof(*p));
	p->dev = open->dev;
	p->ino = open->ino;
	p->bytes = BPF_CORE_READ(inode, i_size);
	p->mtime_ns = gp_mtime_ns(inode);
	p->since_ns = open->since_ns;
	p->born_ns = BPF_CORE_READ(task, start_time);
	p->generation = BPF_CORE_READ(inode, i_generation);
	p->op = op;
	p->flags = open->flags;
	gp_path_of(file, p->path);
}

/* Reserves a record about a file. known: a watched process wrote the file. Returns NULL if the
 * record must not be sent. */
static __always_inline struct gp_file_rec *gp_file_rec(__u64 id, bool known)
{
	struct gp_file_rec *rec;

	/* A file that no watched process wrote is probably training data, so its missing record is
	 * not counted as a loss. */
	if (gp_files_over(id >> 32, known)) {
		if (known)
			gp_lose(GP_LOSS_file_limited);
		return NULL;
	}
	if (gp_life_crowded()) {
		gp_lose(GP_LOSS_ring_life);
		return NULL;
	}
	rec = gp_life(sizeof(*rec));
	if (rec)
		gp_head(&rec->h, id, GP_KIND_file, sizeof(rec->p), 0);
	return rec;
}

static __always_inline int gp_file_send(__u64 id, const struct file *file,
					const struct gp_file_open *open, enum gp_file_op op,
					bool known)
{
	struct gp_file_rec *rec = gp_file_rec(id, known);

	if (!rec)
		return 0;
	gp_file_fill(&rec->p, file, open, op);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Keeps the record about a written file until close(2) returns: on NFS and FUSE, close may write
 * all data. */
static __always_inline void gp_closing_keep(__u64 id, const struct file *file,
					    const struct gp_file_open *open)
{
	__u32 only = 0;
	struct gp_file *p = bpf_map_lookup_elem(&gp_file_scratch, &only);

	if (!p || bpf_map_update_elem(&gp_closings, &id, p, BPF_ANY))
		return;
	p = bpf_map_lookup_elem(&gp_closings, &id);
	if (p)
		gp_file_fill(p, file, open, GP_FILE_WRITTEN);
}

SEC("tp/syscalls/sys_enter_openat")
int gp_opening(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid(), now_ns;

	if (!(call->arg[2] & O_TRUNC) || !gp_is_sending(id))
		return 0;
	now_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&gp_openings, &id, &now_ns, BPF_ANY);
	return 0;
}

/* Returns when the thread's open call began, if it truncates the file, otherwise the present
 * time. */
static __always_inline __u64 gp_opened_since(__u64 id)
{
	__u64 *since = bpf_map_lookup_elem(&gp_openings, &id), now_ns = bpf_ktime_get_ns();

	if (since) {
		now_ns = *since;
		bpf_map_delete_elem(&gp_openings, &id);
	}
	return now_ns;
}

SEC("tp/syscalls/sys_exit_openat")
int gp_opened(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid(), key, since_ns;
	__s64 fd = (__s64)call->arg[0];
	struct gp_file_open open = {};
	struct gp_file_key known;
	struct inode *inode;
	struct file *file;

	if (!gp_is_sending(id))
		return 0;
	since_ns = gp_opened_since(id);
	if (fd < 0)
		return 0;
	file = gp_file_of(fd);
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	open.writes = BPF_CORE_READ(file, f_mode) & FMODE_WRITE;
	known.ino = open.ino = BPF_CORE_READ(inode, i_ino);
	known.dev = open.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (!open.writes && bpf_map_lookup_elem(&gp_known, &known))
		open.flags |= GP_FILE_KNOWN;
	if (gp_named(file))
		open.flags |= GP_FILE_NAMED;
	if (!open.writes && !open.flags)
		return 0;
	open.since_ns = since_ns;
	key = id >> 32 << 32 | (__u32)fd;
	bpf_map_update_elem(&gp_files, &key, &open, BPF_ANY);
	if (open.writes)
		return 0;
	return gp_file_send(id, file, &open, GP_FILE_OPENED, open.flags & GP_FILE_KNOWN);
}

SEC("tp/syscalls/sys_enter_close")
int gp_closing(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid(), key = id >> 32 << 32 | (__u32)call->arg[0],
	      first = 1;
	struct gp_file_open *found = bpf_map_lookup_elem(&gp_files, &key), open;
	struct gp_file_key known;
	struct inode *inode;
	struct file *file;

	if (!found)
		return 0;
	open = *found;
	bpf_map_delete_elem(&gp_files, &key);
	file = gp_file_of(call->arg[0]);
	inode = BPF_CORE_READ(file, f_inode);
	/* The descriptor may refer to another file by now, because another thread closed it. */
	if (!gp_is_sending(id) || BPF_CORE_READ(inode, i_ino) != open.ino ||
	    BPF_CORE_READ(inode, i_sb, s_dev) != open.dev)
		return 0;
	if (!open.writes)
		return gp_file_send(id, file, &open, GP_FILE_READ, open.flags & GP_FILE_KNOWN);
	if (gp_named(file)) /* the file may have got this name after it was opened */
		open.flags |= GP_FILE_NAMED;
	if (!(open.flags & GP_FILE_NAMED) && BPF_CORE_READ(inode, i_size) < GP_FILE_LARGE)
		return 0;
	known.dev = open.dev;
	known.ino = open.ino;
	bpf_map_update_elem(&gp_known, &known, &first, BPF_ANY);
	gp_wrote(id >> 32);
	gp_closing_keep(id, file, &open);
	return 0;
}

SEC("tp/syscalls/sys_exit_close")
int gp_closed(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct gp_file *p = bpf_map_lookup_elem(&gp_closings, &id);
	__s64 ret = (__s64)call->arg[0];
	struct gp_file_rec *rec;

	if (!p)
		return 0;
	/* If close failed (NFS: ENOSPC, EIO or EDQUOT), the file is incomplete and not reported. */
	rec = gp_is_silent() || (ret < 0 && ret != -GP_EINTR) ? NULL : gp_file_rec(id, true);
	if (rec) {
		rec->p = *p;
		bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&gp_closings, &id);
	return 0;
}

struct gp_renamed_rec {
	struct gp_rec h;
	struct gp_renamed p;
};

/* Copies a path from user space to ret. Of a path that is too long, the end is kept. */
static __always_inline void gp_name_of(char *ret, __u64 at)
{
	__u32 only = 0;
	struct gp_path *path = bpf_map_lookup_elem(&gp_paths, &only);
	long len;

	if (!path)
		return;
	len = bpf_probe_read_user_str(path->text, sizeof(path->text), (const void *)at);
	if (len <= 0)
		return;
	if (len <= GP_PATH_MAX)
		bpf_probe_read_kernel(ret, GP_PATH_MAX, path->text);
	else
		bpf_probe_read_kernel(ret, GP_PATH_MAX, &path->text[(len - GP_PATH_MAX) & 0xff]);
}

/* Reports a rename when the system call returns. Its arguments are then still in the saved
 * registers. */
static __always_inline int gp_rename(const struct gp_syscall *call, bool at)
{
	__u64 id = bpf_get_current_pid_tgid(), from, to;
	struct gp_renamed_rec *rec;
	struct gp_regs regs = {};

	if (call->arg[0] || !gp_wrote_lately(id >> 32) || gp_is_silent())
		return 0;
	bpf_probe_read_kernel(&regs, sizeof(regs),
			      (const void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	from = at ? regs.GP_ARG1 : regs.GP_ARG0;
	to = at ? regs.GP_CALL_ARG3 : regs.GP_ARG1;
	/* Renames count towards the limit for known files, so that reads of other files cannot use
	 * it up. */
	if (gp_files_over(id >> 32, true))
		return gp_lose(GP_LOSS_file_limited);
	if (gp_life_crowded())
		return gp_lose(GP_LOSS_ring_life);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, id, GP_KIND_renamed, sizeof(rec->p), 0);
	__builtin_memset(&rec->p, 0, sizeof(rec->p));
	gp_name_of(rec->p.from, from);
	gp_name_of(rec->p.to, to);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp/syscalls/sys_exit_rename")
int gp_rename_done(struct gp_syscall *call)
{
	return gp_rename(call, false);
}

SEC("tp/syscalls/sys_exit_renameat2") /* also attached to the return of renameat(2) */
int gp_renameat_done(struct gp_syscall *call)
{
	return gp_rename(call, true);
}

#endif
