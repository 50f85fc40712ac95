/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - a site is an instruction of a library at which a probe is attached. Finds the functions
 * of the probes, chooses the cheapest safe instruction, checks whether a probe is allowed, and
 * attaches. */
#ifndef LOADER_SITE_H
#define LOADER_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/attach/attach.h"
#include "loader/kernel/kernel.h"
#include "loader/probe/probe_file.h"
#include "loader/probe/rows.h"

/* Limit of functions in one library that all rows together match. */
#define SITES_FOUND_MAX 1024

/* A probe in a library */
struct site {
	size_t row; /* index in the probe table */
	uint64_t offset;
	int pushed; /* bytes by which the function has moved sp before the probed instruction */
	enum gp_insn insn;
	/* GP_ATTACH_attached means that the site is attached, or is to be attached. */
	enum gp_attach_state state;
	int error;
	uint64_t cookie;
	/* File offset of a function whose address a probed call reported; 0: the function was found
	 * by its name. */
	uint64_t followed;
};

/* Returns true when the site has links, or has still to be attached. */
static inline bool site_linked(const struct site *site)
{
	return site->state == GP_ATTACH_attached || site->state == GP_ATTACH_counted;
}

/* Returns true when the site has no links for now, but may get them again. */
static inline bool site_paused(const struct site *site)
{
	return site->state == GP_ATTACH_given_up || site->state == GP_ATTACH_idle;
}

/* Returns true when the file was read too slowly to find the function: a later search may find it.
 */
static inline bool site_open(const struct site *site)
{
	return site->error == -GP_TABLE_slow && site->state == GP_ATTACH_absent;
}

/* Finds a site for each function found, and one with state absent, failed or refused for each row
 * without a function. rows: indexes in the table. If a row has texts and its symbol is missing, the
 * function is searched by them (site_text.c); site.error has the reason when that fails (enum
 * gp_table_error). Returns the number of sites (*ret is malloc'd), or -errno when the file cannot
 * be read as ELF. */
int sites_find(const struct probe_table *probes, const size_t *rows, size_t n,
	       const char *cache_dir, int fd, struct site **ret);

/* Like sites_find(), for a row with `follow`: a call has reported that a function begins at this
 * offset in the file. Refused (-ENOENT) unless a function does begin there: the kernel accepts any
 * offset, and a probe inside an instruction breaks every process that maps the file. */
int sites_find_at(const struct probe_table *probes, size_t row, uint64_t offset, int fd,
		  struct site **ret);
/* Attaches the sites that are to be linked to the file open at fd; file: its identity in the
 * kernel. Sites that the kernel refuses become failed. Calling it again makes another set of links
 * to the same sites. */
void sites_attach(struct site *sites, size_t n, const struct probe_table *probes,
		  struct rows *entries, const struct kernel *k, struct attach *at,
		  const struct gp_vma *file, uint64_t tag, int fd);

#endif
