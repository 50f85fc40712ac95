/* SPDX-License-Identifier: Apache-2.0 */
/* site_slot.c - sites of functions in a runtime's table (rows with slot). */
#include <errno.h>
#include <stdlib.h>

#include "bpf/gp_abi.h"
#include "loader/elf/elf_private.h"
#include "loader/site/pjrt.h"
#include "loader/site/site_private.h"

static int slot_error_of(int err)
{
	if (err == -ETIMEDOUT)
		return -GP_TABLE_slow;
	return err > -GP_TABLE_unseen ? -GP_TABLE_unseen : err;
}

/* err: reason why there is no table; 0: there is one. sure: accept only functions that the file
 * itself confirms. */
static void slot_choose(struct elf_file *ef, const struct probe_row *row,
			const struct pjrt_slots *slots, int err, bool sure, struct site *site)
{
	struct elf_found found = {0};
	int begins;

	site->state = GP_ATTACH_absent;
	if (err) {
		site->error = slot_error_of(err);
		if (site->error != -GP_TABLE_unseen && site->error != -GP_TABLE_slow)
			site->state = GP_ATTACH_refused;
		return;
	}
	if (row->slot + 8 > slots->size) /* only a later version has the function */
		return;
	found.offset = slots->offset[row->slot / 8];
	site->error = -GP_TABLE_unseen;
	if (!found.offset)
		return;
	begins = elf_function_at(ef, found.offset);
	site->state = GP_ATTACH_refused;
	if (begins && (begins != -ENODATA || sure))
		site->error = -GP_TABLE_strange;
	else if (sure && !pjrt_function_named(ef, found.offset, row->symbol))
		site->error = -GP_TABLE_nameless;
	else
		site_choose(ef, row, &found, site);
}

static bool slot_row_found(const struct site *sites, int count, size_t row)
{
	for (int i = 0; i < count; i++)
		if (sites[i].row == row)
			return true;
	return false;
}

int sites_add_slots(const struct probe_table *probes, const size_t *rows, size_t n,
		    const char *cache_dir, int fd, struct elf_file *ef, struct site *sites,
		    int count)
{
	int named = 0, missing = 0, err = -GP_TABLE_unseen, found = count;
	struct pjrt_slots *slots = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!probe_table_row(probes, rows[i])->slot)
			continue;
		if (slot_row_found(sites, found, rows[i]))
			named++;
		else
			missing++;
	}
	/* Skipped when the file has symbols for some functions: then the table's creator passes the
	 * missing ones, and the code does not show them. */
	if (missing && !named) {
		slots = malloc(sizeof(*slots));
		err = slots ? pjrt_decode_cached(cache_dir, fd, slots) : -ENOMEM;
	}
	for (size_t i = 0; missing && i < n; i++) {
		const struct probe_row *row = probe_table_row(probes, rows[i]);
		struct site site = {.row = rows[i]};

		if (!row->slot || slot_row_found(sites, found, rows[i]))
			continue;
		slot_choose(ef, row, slots, err, false, &site);
		if (site_first(probes, sites, (size_t)count, &site))
			sites[count++] = site;
	}
	free(slots);
	return count;
}

int sites_find_in(const struct probe_table *probes, const size_t *rows, size_t n, int fd,
		  const struct site_memory *in, struct site **ret)
{
	struct pjrt_slots *slots = malloc(sizeof(*slots));
	struct site *sites = calloc(n + 1, sizeof(*sites));
	struct elf_file *ef = NULL;
	int err = slots && sites ? elf_file_open(&ef, fd) : -ENOMEM, count = 0;

	if (!err) {
		err = pjrt_scan(ef, in->pid, in->map_start, in->table, slots);
		if (err <= -GP_TABLE_unseen || !err) {
			for (size_t i = 0; i < n; i++) {
				struct site site = {.row = rows[i]};

				slot_choose(ef, probe_table_row(probes, rows[i]), slots, err, true,
					    &site);
				if (site_first(probes, sites, (size_t)count, &site))
					sites[count++] = site;
			}
			err = 0;
		}
		elf_file_close(ef);
	}
	free(slots);
	if (err) {
		free(sites);
		return err;
	}
	*ret = sites;
	return count;
}
