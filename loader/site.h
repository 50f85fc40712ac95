/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - where the probes of one library go: symbols found, the cheapest safe instruction chosen,
 * rules applied; and putting them there. */
#ifndef LOADER_SITE_H
#define LOADER_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
	uint64_t followed; /* a call told that a function begins here in the file; 0: it was found
			      by name */
};

/* It has links, or is to have them. */
static inline bool site_linked(const struct site *site)
{
	return site->state == GP_ATTACH_attached || site->state == GP_ATTACH_counted;
}

/* What becomes known of its function when a process shows the runtime's table of functions. */
static inline bool site_open(const struct site *site)
{
	return !site_linked(site) && site->error <= -GP_TABLE_unseen &&
	       site->state != GP_ATTACH_given_up && site->state != GP_ATTACH_detached;
}

/* One site for each function found, and one with state absent, failed or refused for each row that
 * gets none. rows: indices in the table. A row with a slot whose symbol is not there is looked for
 * in the code that fills the runtime's table of functions (pjrt.h); its error says what is the
 * matter with that (enum gp_table_error). Returns the count (array is malloc'd), or -errno when the
 * file cannot be read as ELF. */
int sites_find(const struct probe_table *probes, const size_t *rows, size_t n,
	       const char *cache_dir, int fd, struct site **ret);

/* The same for one function, of a row with `follow`, that is said to begin at an offset in the
 * file. Refused
 * (-ENOENT) unless one does: the kernel takes any place, and a probe inside an instruction breaks
 * whoever maps the file. */
int sites_find_at(const struct probe_table *probes, size_t row, uint64_t offset, int fd,
		  struct site **ret);
/* Where a process may have that table. */
struct site_memory {
	pid_t pid;
	uint64_t map_start; /* of an executable mapping of the file */
	uint64_t table;	    /* its address; 0: to be looked for */
};

/* The same for rows with a slot, from the memory of a process: one site for each. -ESRCH and kin:
 * it is gone.
 */
int sites_find_in(const struct probe_table *probes, const size_t *rows, size_t n, int fd,
		  const struct site_memory *in, struct site **ret);

/* Attaches those that are to be linked to the file open at fd, whose kernel inode file names; what
 * the kernel refuses becomes failed. Again: makes another set of links to the same sites. */
void sites_attach(struct site *sites, size_t n, const struct probe_table *probes,
		  struct rows *places, const struct kernel *k, struct attach *at,
		  const struct gp_vma *file, uint64_t tag, int fd);

#endif
