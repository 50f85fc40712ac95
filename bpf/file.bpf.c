/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* file.bpf.c - files of watched processes that may be checkpoints: written, renamed, opened to be
 * read.
 *
 * What an opened file is, and what it is called, is asked of the kernel's own file, not of the
 * call's arguments: one program serves every way to open, a name cannot change between the check
 * and the use, and a relative one is no riddle. It is sent when its name is one that checkpoints
 * have, when it is large (written), or when a watched process wrote it before (read); user space
 * knows better what it is. A descriptor that dup2(2), close_range(2) or the end of the process
 * closes says nothing, and io_uring is not seen.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <stdbool.h>

#include "bpf/gp_fd.h"
#include "bpf/gp_kernel.h"
#include "bpf/gp_life.h"
#include "bpf/gp_regs.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define S_IFMT	    0170000 /* include/uapi/linux/stat.h */
#define S_IFREG	    0100000
#define FMODE_WRITE 2 /* include/linux/fs.h */

#define GP_FILE_LARGE                                                                              \
	65536		/* bytes from which a file that was written is told of, whatever its name */
#define GP_FILE_PARTS 8 /* of a path */

/* Records a second and process: of files that watched processes wrote, and of others. A sharded
 * checkpoint has some hundred files, a data set any number. */
#define GP_FILES_KNOWN 512
#define GP_FILES_OTHER 128

#define GP_WROTE_NS (600 * GP_SECOND_NS)

/* Eight characters as one word, as they lie in memory. */
#define GP_WORD(a, b, c, d, e, f, g, h)                                                            \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define GP_LAST(n)  (~0ull << 8 * (8 - (n))) /* of a name's last eight characters */
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
	X(GP_WORD('m', 'e', 't', 'a', 'd', 'a', 't', 'a'), GP_LAST(8))                             \
	X(GP_WORD('M', 'E', 'T', 'A', 'D', 'A', 'T', 'A'), GP_LAST(8))                             \
	X(GP_WORD('e', 't', 'e', 'n', 's', 'o', 'r', 's'), GP_LAST(8)) /* .safetensors */          \
	X(GP_WORD('.', 'm', 's', 'g', 'p', 'a', 'c', 'k'), GP_LAST(8))

#define GP_BEGINS(X)                                                                               \
	X(GP_WORD('c', 'h', 'e', 'c', 'k', 'p', 'o', 'i'), GP_FIRST(8))                            \
	X(GP_WORD('c', 'k', 'p', 't', 0, 0, 0, 0), GP_FIRST(4))                                    \
	X(GP_WORD('m', 'a', 'n', 'i', 'f', 'e', 's', 't'), GP_FIRST(8)) /* .ocdbt */

struct gp_path { /* scratch: a path is made from its end */
	char text[2 * 256];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gp_path);
} gp_paths SEC(".maps");

static __always_inline bool gp_is_ours(__u64 id)
{
	__u32 slot;

	return gp_is_watched(id >> 32, &slot) && !gp_is_silent();
}

/* ---- the kernel's file
 * ----------------------------------------------------------------------------------
 */

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
	at += !root && at < GP_PATH_MAX - 1;
	size = GP_PATH_MAX - 1 - at;
	asm volatile(
		""
		: "+r"(size)); /* what is checked is what is used: the verifier knows registers */
	if (size < GP_PATH_MAX)
		bpf_probe_read_kernel(ret, size, &path->text[at & 0xff]);
}

/* ---- records
 * --------------------------------------------------------------------------------------------
 */

struct gp_file_rec {
	struct gp_rec h;
	struct gp_file p;
};

/* Counts without locks: a few more may pass. */
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

/* Whoever has written none of late has none to rename: compilers and package caches rename all day.
 */
static __always_inline bool gp_wrote_lately(__u32 tgid)
{
	const struct gp_watch *watch = bpf_map_lookup_elem(&gp_watched, &tgid);

	return watch && watch->written_ns && bpf_ktime_get_ns() - watch->written_ns < GP_WROTE_NS;
}

/* known: of those that watched processes write. */
static __always_inline int gp_file_send(__u64 id, const struct file *file,
					const struct gp_file_open *open, enum gp_file_op op,
					bool known)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct gp_file_rec *rec;

	if (gp_files_over(id >> 32, known))
		return gp_lose(GP_LOSS_file_limited);
	if (gp_life_crowded())
		return gp_lose(GP_LOSS_ring_life);
	rec = gp_life(sizeof(*rec));
	if (!rec)
		return 0;
	gp_head(&rec->h, id, GP_KIND_file, sizeof(rec->p), 0);
	__builtin_memset(&rec->p, 0, sizeof(rec->p));
	rec->p.dev = open->dev;
	rec->p.ino = open->ino;
	rec->p.bytes = BPF_CORE_READ(inode, i_size);
	rec->p.mtime_ns = gp_mtime_ns(inode);
	rec->p.since_ns = open->since_ns;
	rec->p.generation = BPF_CORE_READ(inode, i_generation);
	rec->p.op = op;
	rec->p.flags = open->flags;
	gp_path_of(file, rec->p.path);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp/syscalls/sys_exit_openat")
int gp_opened(struct gp_syscall *call)
{
	__u64 id = bpf_get_current_pid_tgid(), key;
	__s64 fd = (__s64)call->arg[0];
	struct gp_file_open open = {};
	struct gp_file_key known;
	struct inode *inode;
	struct file *file;

	if (fd < 0 || !gp_is_ours(id))
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
	open.since_ns = bpf_ktime_get_ns();
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
	/* The descriptor may be another file's by now. */
	if (!gp_is_ours(id) || BPF_CORE_READ(inode, i_ino) != open.ino ||
	    BPF_CORE_READ(inode, i_sb, s_dev) != open.dev)
		return 0;
	if (!open.writes)
		return gp_file_send(id, file, &open, GP_FILE_READ, open.flags & GP_FILE_KNOWN);
	if (gp_named(file)) /* it may have been renamed since */
		open.flags |= GP_FILE_NAMED;
	if (!(open.flags & GP_FILE_NAMED) && BPF_CORE_READ(inode, i_size) < GP_FILE_LARGE)
		return 0;
	known.dev = open.dev;
	known.ino = open.ino;
	bpf_map_update_elem(&gp_known, &known, &first, BPF_ANY);
	gp_wrote(id >> 32);
	return gp_file_send(id, file, &open, GP_FILE_WRITTEN, true);
}

struct gp_renamed_rec {
	struct gp_rec h;
	struct gp_renamed p;
};

/* Of what is longer than there is room for the end matters. */
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

/* What the call was given is still in the registers that it came with. */
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
	if (gp_files_over(id >> 32, false))
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

SEC("tp/syscalls/sys_exit_renameat2") /* and renameat */
int gp_renameat_done(struct gp_syscall *call)
{
	return gp_rename(call, true);
}
