/* SPDX-License-Identifier: Apache-2.0 */
/* library_private.h - the state of one library and of the table of libraries, shared by the files
 * of the library module. */
#ifndef LOADER_LIBRARY_PRIVATE_H
#define LOADER_LIBRARY_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "loader/site/site.h"
#include "userspace/base/table.h"

/* The order matters: a library in a state up to UNRELATED has no row that names it. */
enum library_state {
	LIBRARY_NEW,	   /* not yet classified */
	LIBRARY_UNRELATED, /* no row names it */
	LIBRARY_WANTED,	   /* some row names it; its file is not read yet */
	LIBRARY_ASKED,	   /* some row names it; its file is being read */
	LIBRARY_ATTACHED,  /* its sites were attached, or refused */
};

struct library { /* one file that a watched process maps */
	uint64_t dev, ino;
	uint32_t generation;
	uint32_t classified_name; /* gp_vma.name when its state was chosen */
	enum library_state state;
	bool program;	/* a program that may contain the library of a row */
	bool following; /* it is being read again for a function reported by a call */
	bool searching; /* its file, which is read slowly, is being searched again */
	unsigned int tries;
	uint64_t idle_ns; /* time since when it has no users */
	uint64_t tag;
	uint64_t seen;	     /* number of the last scan that found it */
	struct table *users; /* pid -> entry of the users module; NULL: never had one */
	size_t *rows;	     /* rows that name it */
	size_t row_count;
	struct site *sites;
	size_t site_count;
	int fd; /* file descriptor of an attached library, for attaching again; -1: none */
	char name[sizeof(((struct gp_attach *)0)->library)]; /* escaped */
};

static inline size_t library_users(const struct library *lib)
{
	return lib->users ? table_count(lib->users) : 0;
}

/* Libraries probed at once: each takes some descriptors, and a pause to attach. */
#define LIBRARY_ATTACHED_MAX 1024

struct follows;
struct gp_vma;
struct library_deps;
struct users;

struct mapping_paths;

struct libraries {
	const struct library_deps *deps;
	struct table *files; /* library_key() -> struct library */
	struct users *users;
	struct table *asked; /* tag -> struct library: being read */
	struct table *again; /* tag -> struct library: could not be read from the process tried */
	struct table *idle;  /* tag -> struct library: without users */
	/* tag -> struct library: attached, but its file was read too slowly to find some of its
	 * functions; it is searched next */
	struct table *due;
	/* dev -> any: file systems with a library that may not be read, already reported. */
	struct table *closed_devs;
	size_t *linked; /* rows whose library may be linked into a program */
	size_t linked_count;
	struct follows *follows;
	uint64_t scans, tags;
	size_t attached;
	unsigned int failures, nameless;
	/* Error of the process being scanned that ends its scan: -errno. */
	int closed;
	struct mapping_paths *paths; /* paths of that process; NULL: each is read by itself */
	bool unfinished;	     /* the last scan ran out of time */
	uint64_t fresh_ns;	     /* time since when attached probes are silent; 0: none is */
	bool by_path_logged;	     /* logged: map_files cannot be used */
	bool slow_logged;	     /* logged: detaching will take seconds */
};

uint64_t library_key(const struct gp_vma *vma);
/* Returns the numbers by which the kernel identifies its file. */
struct gp_vma library_file(const struct library *lib);
void library_free(void *lib);
/* Returns the library of a file, made when new. NULL: no room or no memory. */
struct library *library_get(struct libraries *ls, const struct gp_vma *vma);
/* Finds the path by which the process mapped it. Returns 0 or -errno; an error that affects the
 * whole process is also stored in ls->closed. */
int library_path(struct libraries *ls, pid_t pid, const struct gp_vma *vma, char path[PATH_MAX]);
/* Chooses its state by its name. Returns 0 or -errno. */
int library_classify(struct libraries *ls, struct library *lib, pid_t pid,
		     const struct gp_vma *vma);
/* For a program that no row names: selects rows of libraries that its process uses and that may be
 * linked in. Returns false when there are none. */
bool library_classify_program(struct libraries *ls, struct library *lib, pid_t pid,
			      const struct gp_vma *vma);

/* library_budget.c */
struct cost;
/* Attaches and detaches the groups that the budget controls, as it has decided. */
void library_settle(const struct library_deps *deps, struct library *lib, const struct cost *cost);

#endif
