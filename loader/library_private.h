/* SPDX-License-Identifier: Apache-2.0 */
/* library_private.h - one library, as the parts of the library module see it. */
#ifndef LOADER_LIBRARY_PRIVATE_H
#define LOADER_LIBRARY_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

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
	bool following; /* it is being read once more, for a function that a call told of */
	bool looking;	/* ... or for a table that a process may have in memory, or: */
	bool look_file; /* ... that its file has, which is read slowly */
	unsigned int tries;
	int look_told;	 /* why nobody shows it, as told; 0: not yet */
	pid_t shown_by;	 /* whose table had what its file does not show; 0: nobody's */
	pid_t table_pid; /* has returned: */
	uint64_t table;	 /* its address; 0: none */
	size_t look_pos; /* among its users, of the next to be looked at */
	unsigned int looks;
	uint64_t look_ns; /* not before */
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

#define LIBRARY_TREATED_MAX                                                                        \
	1024 /* libraries probed at once: each takes some descriptors, and a pause to attach */

struct follows;
struct gp_vma;
struct library_deps;
struct users;

struct libraries {
	const struct library_deps *deps;
	struct table *files; /* library_key() -> struct library */
	struct users *users;
	struct table *asked; /* tag -> struct library: is being read */
	struct table *again; /* tag -> struct library: could not be read from the process asked */
	struct table *idle;  /* tag -> struct library: has no users */
	struct table *due; /* tag -> struct library: some process may show what its file does not */
	uint32_t tables[4]; /* probes that return a table; 0: no more */
	struct follows *follows;
	uint64_t look, tags;
	size_t treated;
	unsigned int failures;
	int closed;	   /* the process looked at cannot be looked at any more: -errno */
	bool unfinished;   /* the last look ran out of time */
	uint64_t fresh_ns; /* since when something attached is silent; 0: nothing is */
	bool by_path_told; /* that map_files is closed to us */
	bool slow_told;	   /* that detaching will take seconds */
};

uint64_t library_key(const struct gp_vma *vma);
/* What names its file to the kernel. */
struct gp_vma library_file(const struct library *lib);
void library_free(void *lib);
/* That of the file; made when it was never met. NULL: there can be none. */
struct library *library_get(struct libraries *ls, const struct gp_vma *vma);
/* What the process calls it; -errno, which ls->closed keeps where the process cannot be looked at.
 */
int library_path(struct libraries *ls, pid_t pid, const struct gp_vma *vma, char path[PATH_MAX]);
/* Chooses what it is to us by that name. */
int library_judge(struct libraries *ls, struct library *lib, pid_t pid, const struct gp_vma *vma);
void library_enter(struct libraries *ls, struct library *lib, pid_t pid);

/* library_budget.c: brings the groups that may be given up to where the budget wants them. */
struct cost;
void library_settle(const struct library_deps *deps, struct library *lib, const struct cost *cost);

#endif
