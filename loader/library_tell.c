/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "loader/library_tell.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

void library_tell_site(const struct library_deps *deps, const struct library *lib,
		       const struct site *site)
{
	const struct probe_row *row = probe_table_row(deps->probes, site->row);
	const uint32_t *price = row->returns ? deps->price->return_ns : deps->price->enter_ns;
	struct gp_attach a = {
		.dev = lib->dev,
		.ino = lib->ino,
		.offset = site->offset,
		.price_ns = price[site->insn],
		.error = site->error,
		.insn = (uint8_t)site->insn,
		.state = (uint8_t)site->state,
	};

	memcpy(a.library, lib->name, sizeof(a.library));
	if (deps->on_attach)
		deps->on_attach(deps->ctx, row->hash, &a);
}

void library_tell_uncached(const struct library *lib)
{
	size_t n = 0;

	for (size_t i = 0; i < lib->site_count; i++)
		n += lib->sites[i].state == GP_ATTACH_failed && lib->sites[i].error == -EAGAIN;
	if (n)
		log_warn(
			"%s: its file system does not keep it in memory: %zu of its probes are not attached",
			lib->name, n);
}

void library_tell_silent(const struct library_deps *deps, const struct table *files)
{
	const struct library *lib;

	for (size_t i = 0; (lib = table_next(files, &i, NULL));) {
		for (size_t s = 0; s < lib->site_count; s++) {
			const struct probe_row *row = probe_table_row(deps->probes,
								      lib->sites[s].row);

			if (lib->sites[s].state == GP_ATTACH_attached &&
			    row->role == GP_ROLE_range_begin && !row->anonymous &&
			    !rows_runtime_ends(deps->rows, row->runtime))
				log_info("%s: %s waits for a library that ends its ranges",
					 lib->name, row->id);
		}
	}
}

const char *library_error_text(int err)
{
	switch (err) {
#define X(id, name, text)                                                                          \
	case -id:                                                                                  \
		return text;
		GP_TABLE_ERRORS(X)
#undef X
	case -ETIMEDOUT:
		return "does not answer reads; its probes are not attached";
	case -ENFILE:
		return "too many libraries are probed already";
	case -E2BIG:
		return "too much to read to find its functions";
	case -EACCES:
		return "no permission to read it: CAP_DAC_READ_SEARCH or CAP_SYS_PTRACE missing";
	default:
		return strerror(-err);
	}
}
