/* SPDX-License-Identifier: Apache-2.0 */
/* site_choose.c - chooses the instruction of a probe in its function, and whether a probe is
 * allowed. */
#include <errno.h>
#include <string.h>

#include "loader/elf/prologue.h"
#include "loader/probe/probe_match.h"
#include "loader/site/site_private.h"

#define CODE_BYTES 128

/* Refuses return probes on C++ functions: an exception that crosses a return-probed frame ends the
 * job. */
static int site_choose_rules_check(const struct probe_row *row, const struct site *site)
{
	if (row->returns && !row->texts[0] && !strncmp(row->symbol, "_Z", 2))
		return -EPERM;
	if (row->group == GP_GROUP_bulk && site->insn == GP_INSN_stepped)
		/* A hit would cost 16 to 28 us, too much for a frequently called function. */
		return -EOPNOTSUPP;
	return 0;
}

void site_choose(struct elf_file *ef, const struct probe_row *row, const struct elf_found *found,
		 struct site *site)
{
	uint8_t code[CODE_BYTES];
	size_t len = found->size && found->size < sizeof(code) ? found->size : sizeof(code);
	struct prologue at;
	int n = elf_file_read(ef, found->offset, code, len);

	site->offset = found->offset;
	if (n <= 0) {
		site->state = GP_ATTACH_failed;
		site->error = n ? n : -ENODATA;
		return;
	}
	prologue_choose(elf_file_machine(ef), code, (size_t)n, &at);
	site->offset += at.skip;
	site->pushed = at.pushed;
	site->insn = at.insn;
	site->error = site_choose_rules_check(row, site);
	site->state = site->error ? GP_ATTACH_refused : GP_ATTACH_attached;
}

bool site_first(const struct probe_table *probes, const struct site *sites, size_t n,
		struct site *site)
{
	enum kernel_program program = probe_row_program(probe_table_row(probes, site->row));

	for (size_t i = 0; i < n && site->state == GP_ATTACH_attached; i++) {
		if (sites[i].offset != site->offset || sites[i].state != GP_ATTACH_attached ||
		    probe_row_program(probe_table_row(probes, sites[i].row)) != program)
			continue;
		if (sites[i].row == site->row)
			return false;
		site->state = GP_ATTACH_refused;
		site->error = -EEXIST;
	}
	return true;
}
