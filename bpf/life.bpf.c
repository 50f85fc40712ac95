/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* life.bpf.c - BPF programs that need the types of the running kernel: life of processes, files,
 * mappings. They are one object, because libbpf reads all types of the kernel again for each object
 * that it loads. */
#include "bpf/gp_file.h"
#include "bpf/gp_proc.h"
#include "bpf/gp_vma.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
