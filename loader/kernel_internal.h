/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_internal.h - what kernel.c (maps, the programs of probes) and kernel_life.c (those of tracepoints)
 * share. */
#ifndef LOADER_KERNEL_INTERNAL_H
#define LOADER_KERNEL_INTERNAL_H

#include "loader/kernel.h"
#include "skel/call.skel.h"
#include "skel/file.skel.h"
#include "skel/proc.skel.h"
#include "skel/vma.skel.h"

struct kernel_objects {
	struct call_bpf *call;
	struct proc_bpf *proc;
	struct file_bpf *file; /* NULL: not to be had, or switched off */
	struct vma_bpf *vma;
};

/* Follows process life and, where the kernel can, files. 0 or -errno. */
int kernel_life_open(struct kernel *k, struct attach *links, struct pins *pins);

#endif
