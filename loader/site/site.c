/* SPDX-License-Identifier: Apache-2.0 */
/* site.c - finds the functions of probe rows in a library, and attaches probes to them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/attach/pin.h"
#include "loader/probe/probe_match.h"
#include "loader/site/site_private.h"
#include "userspace/base/buffer.h"

#define SYMBOL_MAX 512

/* ---- names: a row's symbol, and the symbol with each suffix ---------------------------------- */

/* Function names to find in one library */
struct names {
	struct buffer wants; /* array of struct elf_want: names to find */
	struct buffer rows;  /* array of size_t: index of the probe row of each name */
	bool failed;
};

static void site_name_add(struct names *names, size_t row, const char *symbol, const char *suffix,
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

static size_t site_names_count(const struct names *names)
{
	return names->wants.len / sizeof(struct elf_want);
}

static void site_names_free(struct names *names)
{
	const struct elf_want *wants = (const struct elf_want *)names->wants.data;

	for (size_t i = 0; i < site_names_count(names); i++)
		free((char *)(uintptr_t)wants[i].name);
	buffer_free(&names->wants);
	buffer_free(&names->rows);
}

static int site_names_fill(struct names *names, const struct probe_table *probes,
			   const size_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct probe_row *row = probe_table_row(probes, rows[i]);

		site_name_add(names, rows[i], row->symbol, "", row->prefix);
		for (size_t v = 0; row->variants && row->variants[v]; v++)
			site_name_add(names, rows[i], row->symbol, row->variants[v], false);
	}
	return names->failed || names->wants.failed || names->rows.failed ? -ENOMEM : 0;
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

static int site_absent_add(const size_t *rows, size_t n, struct site *sites, int count)
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
		err = site_names_fill(&names, probes, rows, n);
	if (err)
		goto out;
	err = symbol_cache_find(cache_dir, fd, (const struct elf_want *)names.wants.data,
				site_names_count(&names), SITES_FOUND_MAX, &found);
	if (err < 0)
		goto out;
	count = err;
	sites = calloc((size_t)count + 2 * n + 1, sizeof(*sites));
	err = -ENOMEM;
	if (!sites)
		goto out;
	count = sites_fill(probes, &names, ef, found, (size_t)count, sites);
	count = sites_add_texts(probes, rows, n, cache_dir, fd, ef, sites, count);
	err = site_absent_add(rows, n, sites, count);
	*ret = sites;
out:
	free(found);
	site_names_free(&names);
	elf_file_close(ef);
	return err;
}

/* ---- attaching ------------------------------------------------------------------------------- */

#define X(id, name) [id] = #name,
static const char *const group_name[] = {GP_GROUPS(X)};
#undef X

struct batch {
	struct attach_site at[SITES_FOUND_MAX];
	struct site *from[SITES_FOUND_MAX];
	size_t n;
};

static void site_batch_fill(struct batch *b, struct site *sites, size_t n,
			    const struct probe_table *probes, enum kernel_program program,
			    enum gp_group group)
{
	/* Return programs are attached to the same sites as entry programs, and before them. */
	enum kernel_program wanted = program == KERNEL_RETURN ? KERNEL_ENTER : program;

	b->n = 0;
	for (size_t i = 0; i < n && b->n < SITES_FOUND_MAX; i++) {
		const struct probe_row *row = probe_table_row(probes, sites[i].row);

		if (!site_linked(&sites[i]) || sites[i].followed ||
		    probe_row_program(row) != wanted || row->group != group)
			continue;
		b->at[b->n] = (struct attach_site){.offset = sites[i].offset,
						   .cookie = sites[i].cookie};
		b->from[b->n++] = &sites[i];
	}
}

static void site_batch_result(const struct batch *b, int err)
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
		  struct rows *entries, const struct kernel *k, struct attach *at,
		  const struct gp_vma *file, uint64_t tag, int fd)
{
	struct batch *b = malloc(sizeof(*b));
	char name[PIN_NAME_MAX];
	struct attach_set set = {.tag = tag, .name = name, .fd = fd};

	for (size_t i = 0; i < n; i++) {
		if (!site_linked(&sites[i]))
			continue;
		sites[i].error = b ? rows_entry_get(entries, sites[i].row, sites[i].pushed,
						    &sites[i].cookie)
				   : -ENOMEM;
		if (sites[i].error)
			sites[i].state = GP_ATTACH_failed;
	}
	for (int program = 0; b && program < KERNEL_EMPTY; program++) {
		for (int group = GP_GROUP_marker; group <= GP_GROUP_measure; group++) {
			site_batch_fill(b, sites, n, probes, program, group);
			set.group = (unsigned int)group;
			set.prog = k->program[program];
			set.returns = program == KERNEL_RETURN;
			snprintf(name, sizeof(name), "link-%lx-%lx-%x-%s-%d",
				 (unsigned long)file->dev, (unsigned long)file->ino,
				 file->generation, group_name[group], program);
			site_batch_result(b, attach_sites(at, &set, b->at, b->n));
		}
	}
	for (size_t i = 0; i < n; i++)
		if (site_linked(&sites[i]) && sites[i].followed)
			site_attach_followed(&sites[i], probes, k, at, file, tag, fd);
	free(b);
}
