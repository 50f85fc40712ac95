/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "loader/library/library_report.h"
#include "userspace/base/confine.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

void library_report_site(const struct library_deps *deps, const struct library *lib,
			 const struct site *site)
{
	const struct probe_row *row = probe_table_row(deps->probes, site->row);
	const uint32_t *hit_cost = row->returns ? deps->hit_cost->return_ns
						: deps->hit_cost->enter_ns;
	struct gp_attach a = {
		.dev = lib->dev,
		.ino = lib->ino,
		.offset = site->offset,
		.hit_cost_ns = hit_cost[site->insn],
		.error = site->error,
		.insn = (uint8_t)site->insn,
		.state = (uint8_t)site->state,
	};

	memcpy(a.library, lib->name, sizeof(a.library));
	if (deps->on_attach)
		deps->on_attach(deps->ctx, row->hash, &a);
}

void library_report_uncached(const struct library *lib)
{
	size_t n = 0, unknown = 0;

	for (size_t i = 0; i < lib->site_count; i++) {
		n += lib->sites[i].state == GP_ATTACH_failed && lib->sites[i].error == -EAGAIN;
		unknown += lib->sites[i].state == GP_ATTACH_failed &&
			   lib->sites[i].error == -ENODATA;
	}
	if (unknown)
		log_warn(
			"%s: CAP_FOWNER is needed to check that this file on FUSE stays in memory: without it, %zu of its probes are not attached",
			lib->name, unknown);
	if (n)
		log_warn(
			"%s: its file system does not keep these pages in memory, and reading them while attaching would delay fork() on the whole machine: %zu probes are not attached",
			lib->name, n);
}

void library_report_silent(const struct library_deps *deps, const struct table *files)
{
	const struct library *lib;

	for (size_t i = 0; (lib = table_next(files, &i, NULL));) {
		for (size_t s = 0; s < lib->site_count; s++) {
			const struct probe_row *row = probe_table_row(deps->probes,
								      lib->sites[s].row);

			if (lib->sites[s].state == GP_ATTACH_attached &&
			    row->role == GP_ROLE_range_begin && !row->anonymous &&
			    !rows_runtime_ends(deps->rows, row->runtime))
				log_info(
					"%s: probe %s (begin of ranges) sends nothing yet, as no probe for the end of these ranges is attached; it starts once a library with such a probe is attached",
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
	case -ENOLINK:
		return "the file was deleted, or is in memory only, and CAP_CHECKPOINT_RESTORE is missing";
	case -ENODATA:
		return "CAP_FOWNER is needed to check that this file on FUSE stays in memory";
	case -E2BIG:
		return "finding its functions takes more reads than gp-bpf allows";
	case -EACCES:
		if (confine_has(CONFINE_CAP(CAP_DAC_READ_SEARCH) | CONFINE_CAP(CAP_SYS_PTRACE)))
			return "its file system lets only its user read it (FUSE without allow_other, NFS with root_squash); give gp-bpf CAP_SETUID and CAP_SETGID to read it as that user";
		return "no permission to read it: CAP_DAC_READ_SEARCH or CAP_SYS_PTRACE missing";
	case -GP_ERROR_LINKED:
		return "the program has no such symbol: the library is linked in stripped, or into another library, or not used; calls of the function are not seen";
	case -GP_ERROR_CLOSED:
		return "its file system refuses root and the user of its process (FUSE of another user, or of a user namespace that may not be joined): mount it with allow_other in the host's user namespace, or load a copy from another file system";
	default:
		return strerror(-err);
	}
}
