/* SPDX-License-Identifier: Apache-2.0 */
/* site_follow.c - probes functions that cannot be found by name: a call of another probed function
 * reports their address. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "loader/attach/pin.h"
#include "loader/probe/probe_match.h"
#include "loader/site/site_private.h"

int sites_find_at(const struct probe_table *probes, size_t row, uint64_t offset, int fd,
		  struct site **ret)
{
	struct elf_found found = {.offset = offset};
	struct elf_file *ef = NULL;
	struct site *site;
	int err = elf_file_open(&ef, fd);

	if (err)
		return err;
	site = calloc(1, sizeof(*site));
	if (!site) {
		elf_file_close(ef);
		return -ENOMEM;
	}
	*site = (struct site){.row = row, .offset = offset, .followed = offset};
	err = elf_function_at(ef, offset);
	if (err) {
		site->state = GP_ATTACH_refused;
		site->error = err;
	} else {
		site_choose(ef, probe_table_row(probes, row), &found, site);
	}
	elf_file_close(ef);
	*ret = site;
	return 1;
}

void site_attach_followed(struct site *site, const struct probe_table *probes,
			  const struct kernel *k, struct attach *at, const struct gp_vma *file,
			  uint64_t tag, int fd)
{
	const struct probe_row *row = probe_table_row(probes, site->row);
	struct attach_site one = {.offset = site->offset, .cookie = site->cookie};
	char name[PIN_NAME_MAX];
	struct attach_set set = {.tag = tag,
				 .group = row->group,
				 .name = name,
				 .prog = k->program[probe_row_program(row)],
				 .fd = fd};

	snprintf(name, sizeof(name), PIN_FOLLOWED "%lx-%lx-%x-%lx", (unsigned long)file->dev,
		 (unsigned long)file->ino, file->generation, (unsigned long)site->offset);
	attach_sites(at, &set, &one, 1);
	if (!one.error)
		return;
	site->state = GP_ATTACH_failed;
	site->error = one.error;
}
