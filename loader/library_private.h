/* SPDX-License-Identifier: Apache-2.0 */
/* library_private.h - one library, as the parts of the library module see it. */
#ifndef LOADER_LIBRARY_PRIVATE_H
#define LOADER_LIBRARY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "loader/site.h"
#include "userspace/base/table.h"

enum library_state {
	LIBRARY_NEW,	 /* its name was not looked at */
	LIBRARY_FOREIGN, /* no row names it */
	LIBRARY_WANTED,	 /* some row does */
	LIBRARY_ASKED,	 /* ... and it is being read */
	LIBRARY_TREATED, /* its sites were dealt with */
};

struct library { /* one file that somebody maps */
	uint64_t dev, ino;
	uint32_t generation;
	uint32_t judged_name; /* gp_vma.name when its state was chosen */
	enum library_state state;
	uint64_t idle_ns; /* since when it has no users */
	uint64_t tag;
	uint64_t seen;	     /* number of the last look that met it */
	struct table *users; /* pid -> the module's; NULL: never had one */
	size_t *rows;	     /* that name it */
	size_t row_count;
	struct site *sites;
	size_t site_count;
	int fd; /* of a treated one, for attaching again; -1: none */
	char name[sizeof(((struct gp_attach *)0)->library)]; /* escaped */
};

static inline size_t library_users(const struct library *lib)
{
	return lib->users ? table_count(lib->users) : 0;
}

/* library_budget.c: brings the groups that may be given up to where the budget wants them. */
struct cost;
struct library_deps;
void library_settle(const struct library_deps *deps, struct library *lib, const struct cost *cost);

#endif
