/* SPDX-License-Identifier: Apache-2.0 */
/* site_private.h - what the parts of site share. */
#ifndef LOADER_SITE_PRIVATE_H
#define LOADER_SITE_PRIVATE_H

#include "loader/elf_symbol.h"
#include "loader/site.h"

/* Which program a row's entry runs. */
enum kernel_program site_program(const struct probe_row *row);
/* Fills in place and state for a function that was found. */
void site_choose(struct elf_file *ef, const struct probe_row *row, const struct elf_found *found,
		 struct site *site);
/* Its link is its own, under a name that does not depend on what else is attached to the file. */
void site_attach_followed(struct site *site, const struct probe_table *probes,
			  const struct kernel *k, struct attach *at, const struct gp_vma *file,
			  uint64_t tag, int fd);
/* Aliases of one function are one probe; of two rows that want the same program at the same place
 * the first gets it, else each call would be told twice. Returns whether the site is to be kept. */
bool site_first(const struct probe_table *probes, const struct site *sites, size_t n,
		struct site *site);
/* Sites of the rows that are in the runtime's table of functions and have none among these yet, as
 * far as the file tells (see sites_find()). Returns the new count; there is room for one a row. */
int sites_add_slots(const struct probe_table *probes, const size_t *rows, size_t n,
		    const char *cache_dir, int fd, struct elf_file *ef, struct site *sites,
		    int count);

#endif
