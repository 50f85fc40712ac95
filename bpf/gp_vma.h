/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_vma.h - lists the files that a process has mapped executable, with the kernel's device and
 * inode numbers. On an overlay file system /proc/PID/maps and stat(2) show other numbers, which
 * differ between mounts. */
#ifndef GP_VMA_H
#define GP_VMA_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/gp_kernel.h"
#include "bpf/gp_private.h"

#define VM_EXEC 4 /* include/linux/mm.h */

SEC("iter/task_vma")
int gp_vmas(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct gp_vma out = {};
	struct inode *inode;

	if (!ctx->task || !vma || !vma->vm_file || !(vma->vm_flags & VM_EXEC))
		return 0;
	inode = vma->vm_file->f_inode;
	if ((inode->i_mode & S_IFMT) !=
	    S_IFREG) /* device files are skipped, because opening one may have effects */
		return 0;
	out.dev = inode->i_sb->s_dev;
	out.ino = inode->i_ino;
	out.start = vma->vm_start;
	out.end = vma->vm_end;
	out.page = vma->vm_pgoff;
	out.generation = inode->i_generation;
	/* Report the hash of the name, too: a file may be mapped by several names, of which probe
	 * files mention only some. */
	out.name = vma->vm_file->f_path.dentry->d_name.hash;
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

#endif
