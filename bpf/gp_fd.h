/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_fd.h - finds the kernel's struct file of a file descriptor. */
#ifndef GP_FD_H
#define GP_FD_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/gp_kernel.h"

/* Returns the file of descriptor fd of the current process, or NULL. If another thread closes it at
 * the same time, reading the result is safe, but gives garbage. */
static __always_inline struct file *gp_file_of(__u32 fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL, **files;
	unsigned int max = 0;

	bpf_core_read(&max, sizeof(max), &table->max_fds);
	if (fd >= max)
		return NULL;
	bpf_core_read(&files, sizeof(files), &table->fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

#endif
