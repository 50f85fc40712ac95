/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - sites of the probes of one library: finds the functions, chooses the cheapest safe
 * instruction, applies the rules, and attaches. */
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

/* Functions of one library that all rows together may match. */
#define SITES_FOUND_MAX 1024

struct site {
	size_t row; /* index in the probe table */
	uint64_t offset;
	int pushed; /* bytes by which sp has moved at the probed instruction */
	enum gp_insn insn;
	enum gp_attach_state state; /* attached: also when still to be attached */
	int error;
	uint64_t cookie;
	/* File offset at which a call reported the begin of a function; 0: found by name. */
	uint64_t followed;
};

/* Returns true when the site has links, or is to have them. */
static inline bool site_linked(const struct site *site)
{
	return site->state == GP_ATTACH_attached || site->state == GP_ATTACH_counted;
}

/* Returns true when its function may become known once a process shows the runtime's function
 * table. */
static inline bool site_open(const struct site *site)
{
	return !site_linked(site) && site->error <= -GP_TABLE_unseen &&
	       site->state != GP_ATTACH_given_up && site->state != GP_ATTACH_detached;
}

/* Finds a site for each function found, and one with state absent, failed or refused for each row
 * without any. rows: indexes in the table. A row with a slot whose symbol is missing is searched in
 * the code that fills the runtime's function table (pjrt.h); its error is the reason when that
 * fails (enum gp_table_error). Returns the number of sites (*ret is malloc'd), or -errno when the
 * file cannot be read as ELF. */
int sites_find(const struct probe_table *probes, const size_t *rows, size_t n,
	       const char *cache_dir, int fd, struct site **ret);

/* The same for one function, of a row with `follow`, reported to begin at an offset in the file.
 * Refused (-ENOENT) unless a function does begin there: the kernel accepts any offset, and a probe
 * inside an instruction breaks every process that maps the file. */
int sites_find_at(const struct probe_table *probes, size_t row, uint64_t offset, int fd,
		  struct site **ret);
/* Place of the function table in a process. */
struct site_memory {
	pid_t pid;
	uint64_t map_start; /* of an executable mapping of the file */
	uint64_t table;	    /* address of the table; 0: search for it */
};

/* The same for rows with a slot, from the memory of a process: one site for each row. Returns as
 * sites_find(); -ESRCH: the process is gone. */
int sites_find_in(const struct probe_table *probes, const size_t *rows, size_t n, int fd,
		  const struct site_memory *in, struct site **ret);

/* Attaches the sites that are to be linked to the file open at fd; file: its identity in the
 * kernel. Sites that the kernel refuses become failed. Calling it again makes another set of links
 * to the same sites. */
void sites_attach(struct site *sites, size_t n, const struct probe_table *probes,
		  struct rows *entries, const struct kernel *k, struct attach *at,
		  const struct gp_vma *file, uint64_t tag, int fd);

#endif
