/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_private.h - shared by kernel.c (maps, programs of probes) and kernel_life.c (programs of
 * tracepoints). */
#ifndef LOADER_KERNEL_PRIVATE_H
#define LOADER_KERNEL_PRIVATE_H

#include "loader/kernel/kernel.h"
#include "skel/call.skel.h"
#include "skel/life.skel.h"
#include "userspace/base/worker.h"

/* The two BPF objects: "call" has the programs of probes, "life" the other programs */
struct kernel_objects {
	struct call_bpf *call;
	struct life_bpf *life; /* NULL: none of its programs is used */
	bool life_loading;     /* the thread of `loading` is loading the life object */
	struct worker loading;
	int life_error; /* result of life_bpf__load(): 0 or -errno; set when loading has ended */
};

/* Opens the life object, which has the programs that kernel_life_open() attaches and the iterator
 * over mappings, except those that the kernel does not support. The object uses the maps of the
 * call object, so that both can then be loaded in parallel. Returns 0 or -errno. */
int kernel_life_prepare(struct kernel_objects *o);
/* Attaches the programs that follow process life and, where the kernel can, files. Returns 0 or
 * -errno. */
int kernel_life_open(struct kernel *k, struct attach *links, struct pins *pins);

/* Attaches a program: takes over the predecessor's link if it runs the same program, else makes a
 * new link with this name. While both links exist, each fork is reported by the first of their
 * programs that runs (gp_forked()). tracepoint: name of a system call's tracepoint, or NULL where
 * the program names its own. Returns 0 or -errno. */
int kernel_life_attach(const struct kernel *k, struct attach *links, struct pins *pins,
		       struct bpf_program *prog, const char *name, const char *tracepoint);
/* Makes obj use the maps of the call object where both declare a map. Returns 0 or -errno. */
int kernel_maps_reuse(const struct bpf_object *obj, const struct bpf_object *call);

#endif
