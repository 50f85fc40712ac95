/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* life.bpf.c - programs that need types of the running kernel: process life, files, mappings. One
 * object, as libbpf reads all kernel types again for each object that it loads. */
#include "bpf/gp_file.h"
#include "bpf/gp_proc.h"
#include "bpf/gp_vma.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
