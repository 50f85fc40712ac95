/* SPDX-License-Identifier: Apache-2.0 */
/* site_private.h - shared by the site*.c files. */
#ifndef LOADER_SITE_PRIVATE_H
#define LOADER_SITE_PRIVATE_H

#include "loader/elf/elf_symbol.h"
#include "loader/site/site.h"

/* Chooses the instruction to probe in a function that was found, and the state of the site. */
void site_choose(struct elf_file *ef, const struct probe_row *row, const struct elf_found *found,
		 struct site *site);
/* Attaches a function whose address a call reported (site.followed) with a separate link. The name
 * of this link does not depend on the file's other sites. */
void site_attach_followed(struct site *site, const struct probe_table *probes,
			  const struct kernel *k, struct attach *at, const struct gp_vma *file,
			  uint64_t tag, int fd);
/* Returns true when the site is to be kept. If several sites would run the same program at the same
 * offset (two rows, or aliases of one function), only the first of them is kept, as each call would
 * be reported twice. */
bool site_first(const struct probe_table *probes, const struct site *sites, size_t n,
		struct site *site);
/* Rows with texts are for files without symbols: adds the sites of these rows if the file has a
 * symbol for none of them. Returns the new number of sites; there is room for one for each row. */
int sites_add_texts(const struct probe_table *probes, const size_t *rows, size_t n,
		    const char *cache_dir, int fd, struct elf_file *ef, struct site *sites,
		    int count);

#endif
