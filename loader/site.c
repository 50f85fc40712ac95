/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/pin.h"
#include "loader/prologue.h"
#include "loader/site_private.h"
#include "userspace/base/buffer.h"
#include "userspace/base/log.h"

#define SYMBOL_MAX 512
#define CODE_BYTES 128

enum kernel_program site_program(const struct probe_row *row)
{
	if (row->count)
		return KERNEL_COUNT;
	if (row->returns)
		return KERNEL_ENTER;
	if (row->role == GP_ROLE_range_begin)
		return KERNEL_RANGE_BEGIN;
	if (row->role == GP_ROLE_range_end)
		return KERNEL_RANGE_END;
	if (row->role == GP_ROLE_monitor)
		return KERNEL_MONITOR;
	return row->string != PROBE_STRING_NONE ? KERNEL_NAMED : KERNEL_HIT;
}

/* ---- names: a row's symbol, and the symbol with each suffix --------------------------------- */

struct names {
	struct buffer wants; /* of struct elf_want */
	struct buffer rows;  /* of size_t: whose want it is */
	bool failed;
};

static void name_add(struct names *names, size_t row, const char *symbol, const char *suffix,
		     bool prefix)
{
	char text[SYMBOL_MAX];
	struct elf_want want = {.prefix = prefix};

	snprintf(text, sizeof(text), "%s%s", symbol, suffix);
	want.name = strdup(text);
	if (!want.name) {
		names->failed = true;
		return;
	}
	buffer_add(&names->wants, &want, sizeof(want));
	buffer_add(&names->rows, &row, sizeof(row));
}

static size_t names_count(const struct names *names)
{
	return names->wants.len / sizeof(struct elf_want);
}

static void names_free(struct names *names)
{
	const struct elf_want *wants = (const struct elf_want *)names->wants.data;

	for (size_t i = 0; i < names_count(names); i++)
		free((char *)(uintptr_t)wants[i].name);
	buffer_free(&names->wants);
	buffer_free(&names->rows);
}

static int names_fill(struct names *names, const struct probe_table *probes, const size_t *rows,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct probe_row *row = probe_table_row(probes, rows[i]);

		name_add(names, rows[i], row->symbol, "", row->prefix);
		for (size_t v = 0; row->variants && row->variants[v]; v++)
			name_add(names, rows[i], row->symbol, row->variants[v], false);
	}
	return names->failed || names->wants.failed || names->rows.failed ? -ENOMEM : 0;
}

/* ---- rules --------------------------------------------------------------------------------- */

/* An exception that crosses a return-probed frame ends the job, so C++ functions get none (design
 * §4.1). */
static int rules_check(const struct probe_row *row, const struct site *site)
{
	if (row->returns && !row->slot && !strncmp(row->symbol, "_Z", 2))
		return -EPERM;
	if (row->group == GP_GROUP_bulk && site->insn == GP_INSN_stepped)
		return -EOPNOTSUPP; /* 16-28 us a hit, on something hot */
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
	site->error = rules_check(row, site);
	site->state = site->error ? GP_ATTACH_refused : GP_ATTACH_attached;
}

bool site_first(const struct probe_table *probes, const struct site *sites, size_t n,
		struct site *site)
{
	enum kernel_program program = site_program(probe_table_row(probes, site->row));

	for (size_t i = 0; i < n && site->state == GP_ATTACH_attached; i++) {
		if (sites[i].offset != site->offset || sites[i].state != GP_ATTACH_attached ||
		    site_program(probe_table_row(probes, sites[i].row)) != program)
			continue;
		if (sites[i].row == site->row)
			return false;
		site->state = GP_ATTACH_refused;
		site->error = -EEXIST;
	}
	return true;
}

static int sites_fill(const struct probe_table *probes, const struct names *names,
		      struct elf_file *ef, const struct elf_found *found, size_t n,
		      struct site *sites)
{
	const size_t *rows = (const size_t *)names->rows.data;
	size_t count = 0;

	for (size_t i = 0; rows && i < n; i++) {
		struct site site = {.row = rows[found[i].want]};

		site_choose(ef, probe_table_row(probes, site.row), &found[i], &site);
		if (site_first(probes, sites, count, &site))
			sites[count++] = site;
	}
	return (int)count;
}

static int absent_add(const size_t *rows, size_t n, struct site *sites, int count)
{
	const int found = count;

	for (size_t i = 0; i < n; i++) {
		int at = 0;

		while (at < found && sites[at].row != rows[i])
			at++;
		if (at == found)
			sites[count++] = (struct site){.row = rows[i], .state = GP_ATTACH_absent};
	}
	return count;
}

int sites_find(const struct probe_table *probes, const size_t *rows, size_t n,
	       const char *cache_dir, int fd, struct site **ret)
{
	struct elf_found *found = NULL;
	struct names names = {0};
	struct elf_file *ef = NULL;
	struct site *sites = NULL;
	int count, err;

	err = elf_file_open(&ef, fd);
	if (!err)
		err = names_fill(&names, probes, rows, n);
	if (err)
		goto out;
	err = symbol_cache_find(cache_dir, fd, (const struct elf_want *)names.wants.data,
				names_count(&names), SITES_FOUND_MAX, &found);
	if (err < 0)
		goto out;
	count = err;
	sites = calloc((size_t)count + 2 * n + 1, sizeof(*sites));
	err = -ENOMEM;
	if (!sites)
		goto out;
	count = sites_fill(probes, &names, ef, found, (size_t)count, sites);
	count = sites_add_slots(probes, rows, n, cache_dir, fd, ef, sites, count);
	err = absent_add(rows, n, sites, count);
	*ret = sites;
out:
	free(found);
	names_free(&names);
	elf_file_close(ef);
	return err;
}

/* ---- attaching ----------------------------------------------------------------------------- */

#define X(id, name) [id] = #name,
static const char *const group_name[] = {GP_GROUPS(X)};
#undef X

struct batch {
	struct attach_site at[SITES_FOUND_MAX];
	struct site *from[SITES_FOUND_MAX];
	size_t n;
};

static void batch_fill(struct batch *b, struct site *sites, size_t n,
		       const struct probe_table *probes, enum kernel_program program,
		       enum gp_group group)
{
	/* A return is attached before its entry, at the same sites. */
	enum kernel_program wanted = program == KERNEL_LEAVE ? KERNEL_ENTER : program;

	b->n = 0;
	for (size_t i = 0; i < n && b->n < SITES_FOUND_MAX; i++) {
		const struct probe_row *row = probe_table_row(probes, sites[i].row);

		if (!site_linked(&sites[i]) || sites[i].followed || site_program(row) != wanted ||
		    row->group != group)
			continue;
		b->at[b->n] = (struct attach_site){.offset = sites[i].offset,
						   .cookie = sites[i].cookie};
		b->from[b->n++] = &sites[i];
	}
}

static void batch_result(const struct batch *b, int err)
{
	for (size_t i = 0; i < b->n; i++) {
		int error = err ? err : b->at[i].error;

		if (!error)
			continue;
		b->from[i]->state = GP_ATTACH_failed;
		b->from[i]->error = error;
	}
}

void sites_attach(struct site *sites, size_t n, const struct probe_table *probes,
		  struct rows *places, const struct kernel *k, struct attach *at,
		  const struct gp_vma *file, uint64_t tag, int fd)
{
	struct batch *b = malloc(sizeof(*b));
	char name[PIN_NAME_MAX];
	struct attach_set set = {.tag = tag, .name = name, .fd = fd};

	for (size_t i = 0; i < n; i++) {
		if (!site_linked(&sites[i]))
			continue;
		sites[i].error = b ? rows_place(places, sites[i].row, sites[i].pushed,
						&sites[i].cookie)
				   : -ENOMEM;
		if (sites[i].error)
			sites[i].state = GP_ATTACH_failed;
	}
	for (int program = 0; b && program < KERNEL_EMPTY; program++) {
		for (int group = GP_GROUP_marker; group <= GP_GROUP_fault; group++) {
			batch_fill(b, sites, n, probes, program, group);
			set.group = (unsigned int)group;
			set.prog = k->program[program];
			set.returns = program == KERNEL_LEAVE;
			snprintf(name, sizeof(name), "link-%lx-%lx-%x-%s-%d",
				 (unsigned long)file->dev, (unsigned long)file->ino,
				 file->generation, group_name[group], program);
			batch_result(b, attach_sites(at, &set, b->at, b->n));
		}
	}
	for (size_t i = 0; i < n; i++)
		if (site_linked(&sites[i]) && sites[i].followed)
			site_attach_followed(&sites[i], probes, k, at, file, tag, fd);
	free(b);
}
