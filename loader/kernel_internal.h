/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_internal.h - what kernel.c (maps, the programs of probes) and kernel_life.c (those of
 * tracepoints) share. */
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

/* Loads what kernel_life_open() attaches, where the kernel can. */
int kernel_life_load(struct kernel_objects *o);
/* Follows process life and, where the kernel can, files. 0 or -errno. */
int kernel_life_open(struct kernel *k, struct attach *links, struct pins *pins);

/* A link of process life: the predecessor's if it runs the same program, else a new one with this
 * name. While both are there a fork is told by whichever comes first (gp_forked()). tracepoint: of
 * a system call, or NULL where the program says itself what it is of. */
int kernel_life_attach(const struct kernel *k, struct attach *links, struct pins *pins,
		       struct bpf_program *prog, const char *name, const char *tracepoint);
/* What both objects declare is one map: the call object's. */
int kernel_maps_reuse(const struct bpf_object *obj, const struct bpf_object *call);

#endif
