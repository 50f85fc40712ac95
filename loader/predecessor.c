/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/predecessor.h"
#include "loader/kernel/feature.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/kernel/kernel.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/clock.h"
#include "userspace/base/hash.h"
#include "userspace/base/log.h"

static uint64_t predecessor_probes_hash(const struct probe_table *probes)
{
	uint64_t h = HASH_START;
	struct gp_row compiled;

	for (size_t i = 0; i < probe_table_count(probes); i++) {
		memset(&compiled, 0, sizeof(compiled));
		probe_row_compile(probe_table_row(probes, i), 0, &compiled);
		h = hash_bytes(h, &compiled, sizeof(compiled));
	}
	return h;
}

/* Checks what a predecessor left attached, without changing it. Returns NULL when it can be taken
 * over, else the reason. */
static const char *predecessor_refuse(struct pins *pins, const struct gp_meta *own)
{
	struct gp_meta meta = {0};
	uint32_t only = 0;
	int fd = pins_claim(pins, "map-gp_meta"), err;

	if (fd < 0)
		return "its maps are incomplete";
	err = bpf_map_lookup_elem(fd, &only, &meta);
	close(fd);
	if (err || !meta.complete)
		return "its maps are incomplete";
	if (memcmp(meta.boot_id, own->boot_id, sizeof(meta.boot_id)) != 0)
		return "it is from before the last boot";
	if (meta.abi != own->abi)
		return "it is of another version of gp-bpf";
	return meta.probes != own->probes ? "its probe files were different" : NULL;
}

int predecessor_open(struct pins **ret, const struct loader_config *cfg, struct gp_meta *own,
		     bool *ret_adopt)
{
	const char *why;
	int err;

	*own = (struct gp_meta){.abi = kernel_abi_hash(),
				.probes = predecessor_probes_hash(cfg->probes),
				.owner = (uint32_t)getpid()};
	clock_boot_id(own->boot_id);
	if (!cfg->durable)
		return 0;
	if (!feature_have(FEATURE_BPFFS)) {
		log_error(
			"--durable needs feature bpffs, a writable BPF file system at /sys/fs/bpf; run as root (sudo gp-bpf ...)");
		return -EPERM;
	}
	snprintf(own->state_dir, sizeof(own->state_dir), "%s", cfg->durable);
	err = pins_open(ret, cfg->durable);
	if (err || !pins_waiting(*ret, ""))
		return err;
	why = predecessor_refuse(*ret, own);
	*ret_adopt = !why;
	if (!why)
		return 0;
	log_warn("cannot take over the probes of an earlier gp-bpf (%s): detaching them", why);
	pins_clear(*ret);
	pins_close(*ret);
	*ret = NULL;
	return pins_open(ret, cfg->durable);
}

void predecessor_become(struct gp_meta *meta, const struct gp_meta *own)
{
	meta->abi = own->abi;
	meta->probes = own->probes;
	meta->owner = own->owner;
	memcpy(meta->boot_id, own->boot_id, sizeof(meta->boot_id));
	memcpy(meta->state_dir, own->state_dir, sizeof(meta->state_dir));
	__atomic_store_n(&meta->complete, 1, __ATOMIC_RELEASE);
}

struct detaching {
	loader_detach_fn *ask;
	void *ctx;
	int gone;
};

static void predecessor_folder_detach(void *ctx, struct pins *pins, const char *folder)
{
	struct detaching *d = ctx;
	struct gp_meta meta = {0};
	uint32_t only = 0;
	int fd = pins_claim(pins, "map-gp_meta");

	if (fd >= 0) {
		if (bpf_map_lookup_elem(fd, &only, &meta))
			meta.state_dir[0] = 0;
		close(fd);
	}
	meta.state_dir[sizeof(meta.state_dir) - 1] = 0;
	if (!d->ask(d->ctx, folder, meta.state_dir, pins_busy(pins) ? meta.owner : 0))
		return;
	pins_clear(pins);
	d->gone++;
}

int loader_detach(loader_detach_fn *ask, void *ctx)
{
	struct detaching d = {ask, ctx, 0};
	int n = pins_each(predecessor_folder_detach, &d);

	return n < 0 && n != -ENOENT ? n : d.gone;
}
