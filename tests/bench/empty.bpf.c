/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* empty.bpf.c - the baseline: what the kernel takes for a probe that does nothing. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe")
int empty(void *ctx)
{
	return 0;
}
