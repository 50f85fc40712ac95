/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/unwatched.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kernel/feature.h"
#include "loader/kernel/kernel_private.h"
#include "loader/probe/probe_names.h"
#include "skel/unwatched.skel.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"

struct unwatched {
	struct unwatched_bpf *bpf;
};

static int unwatched_prefixes_put(const struct unwatched_bpf *bpf, const struct probe_names *names)
{
	const struct gp_prefix *prefix;
	size_t n = probe_names_prefixes(names, &prefix);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = bpf_map__update_elem(bpf->maps.gp_prefixes, &i, sizeof(i), &prefix[i],
					   sizeof(*prefix), BPF_ANY);
	return err;
}

/* Attaches the program, or keeps the predecessor's link if that runs the same program. The list of
 * library names in the kernel is the same in that case: a predecessor with other rows is never
 * taken over. */
static int unwatched_attach(const struct unwatched *m, const struct kernel *k, struct attach *links,
			    struct pins *pins)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	char name[64];
	int err = bpf_obj_get_info_by_fd(bpf_program__fd(m->bpf->progs.gp_unwatched_map), &info,
					 &len);

	if (err)
		return err;
	snprintf(name, sizeof(name), "unwatched-%016llx",
		 (unsigned long long)hash_bytes(HASH_START, info.tag, sizeof(info.tag)));
	return kernel_life_attach(k, links, pins, m->bpf->progs.gp_unwatched_map, name,
				  "syscalls/sys_enter_mmap");
}

static int unwatched_load(struct unwatched *m, const struct kernel *k,
			  const struct probe_names *names)
{
	int err;

	m->bpf = unwatched_bpf__open();
	if (!m->bpf)
		return -errno;
	err = kernel_maps_reuse(m->bpf->obj, k->objects->call->obj);
	if (!err)
		err = unwatched_bpf__load(m->bpf);
	return err ? err : unwatched_prefixes_put(m->bpf, names);
}

int unwatched_open(struct unwatched **ret, const struct kernel *k, struct attach *links,
		   struct pins *pins, const struct probe_table *probes)
{
	struct probe_names *names = NULL;
	struct unwatched *m;
	int err;

	*ret = NULL;
	if (!feature_have(FEATURE_SYSCALL_TP) || !feature_have(FEATURE_KERNEL_READ))
		return 0;
	m = calloc(1, sizeof(*m));
	err = m ? probe_names_new(&names, probes) : -ENOMEM;
	if (!err)
		err = unwatched_load(m, k, names);
	if (!err)
		err = unwatched_attach(m, k, links, pins);
	probe_names_free(names);
	if (!err) {
		*ret = m;
		return 0;
	}
	unwatched_close(m);
	if (err == -ENOMEM)
		return err;
	log_warn("the kernel cannot report which processes map a library: %s", strerror(-err));
	return 0;
}

void unwatched_close(struct unwatched *m)
{
	if (!m)
		return;
	unwatched_bpf__destroy(m->bpf);
	free(m);
}
