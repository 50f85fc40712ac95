/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/kernel/vmlinux.h"

#include <bpf/btf.h>
#include <errno.h>

static struct btf *kept;

int vmlinux_type(const char *name, unsigned kind)
{
	if (!kept)
		kept = btf__load_vmlinux_btf();
	return kept ? btf__find_by_name_kind(kept, name, kind) : -errno;
}

void vmlinux_forget(void)
{
	btf__free(kept);
	kept = NULL;
}
