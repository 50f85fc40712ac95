/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - where the probes of one library go: symbols found, the cheapest safe instruction chosen,
 * rules applied; and putting them there. */
#ifndef LOADER_SITE_H
#define LOADER_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/attach.h"
#include "loader/kernel.h"
#include "loader/probe_file.h"
#include "loader/rows.h"

/* Functions of one library that all rows together may match. */
#define SITES_FOUND_MAX 1024

struct site {
	size_t row; /* in the probe table */
	uint64_t offset;
	int pushed; /* bytes that sp has moved by the probed instruction */
	enum gp_insn insn;
	enum gp_attach_state state; /* attached: will be, or is */
	int error;
	uint64_t cookie;
};

/* It has links, or is to have them. */
static inline bool site_linked(const struct site *site)
{
	return site->state == GP_ATTACH_attached || site->state == GP_ATTACH_counted;
}

/* One site for each function found, and one with state absent, failed or refused for each row that gets
 * none. rows: indices in the table. Returns the count (array is malloc'd), or -errno when the file cannot
 * be read as ELF. */
int sites_find(const struct probe_table *probes, const size_t *rows, size_t n, const char *cache_dir, int fd,
	       struct site **ret);

/* Attaches those that are to be linked to the file open at fd, whose kernel inode file names; what the kernel
 * refuses becomes failed. Again: makes another set of links to the same sites. */
void sites_attach(struct site *sites, size_t n, const struct probe_table *probes, struct rows *places,
		  const struct kernel *k, struct attach *at, const struct gp_vma *file, uint64_t tag, int fd);

#endif
