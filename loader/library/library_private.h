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

/* The order matters: for a library in a state up to LIBRARY_UNRELATED, no probe row is known. */
enum library_state {
	LIBRARY_NEW,	   /* not yet classified */
	LIBRARY_UNRELATED, /* no row names the file */
	LIBRARY_WANTED,	   /* a row names the file, which was not read yet */
	LIBRARY_ASKED,	   /* a row names the file, which is being read */
	LIBRARY_ATTACHED,  /* the library's sites were attached, or refused */
};

struct library { /* one file that a watched process maps */
	uint64_t dev, ino;
	uint32_t generation;
	uint32_t classified_name; /* value of gp_vma.name when the library's state was chosen */
	enum library_state state;
	/* the file is a program into which a library that a row names may be linked */
	bool program;
	/* the file is being read again, to find a function that a call has reported */
	bool following;
	bool searching; /* the file, which is read slowly, is being searched again */
	unsigned int tries;
	uint64_t idle_ns; /* since when (ns) the library has had no users */
	uint64_t tag;
	uint64_t seen; /* number of the last scan that found the library */
	/* Processes that use the library: pid -> struct user; NULL: it never had one. */
	struct table *users;
	size_t *rows; /* rows that name the library */
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

/* Limit of libraries attached at one time: each takes some descriptors. */
#define LIBRARY_ATTACHED_MAX 1024

struct follows;
struct gp_vma;
struct library_deps;
struct users;

struct mapping_paths;

/* All files that watched processes map executable */
struct libraries {
	const struct library_deps *deps;
	struct table *files; /* library_key() -> struct library */
	struct users *users;
	struct table *asked; /* tag -> struct library: libraries that a reader is reading */
	/* tag -> struct library: could not be read yet; read again later, if necessary through
	 * another process */
	struct table *again;
	struct table *idle; /* tag -> struct library: libraries without users */
	/* tag -> struct library: attached, but its file was read too slowly to find some of its
	 * functions; it is searched next */
	struct table *due;
	/* dev -> any: file systems with a library that gp-bpf may not read, which was logged
	 * already */
	struct table *closed_devs;
	size_t *linked; /* rows whose library may be linked into a program */
	size_t linked_count;
	struct follows *follows;
	uint64_t scans, tags;
	size_t attached;
	unsigned int failures, nameless;
	/* Error that ended the scan of the process being scanned: -errno; 0: none. */
	int closed;
	/* Paths of the files of the process being scanned; NULL: each path is read by a separate
	 * call. */
	struct mapping_paths *paths;
	bool unfinished; /* the last scan ran out of time */
	/* Since when (ns) attached probes have been waiting to be activated; 0: no probe waits. */
	uint64_t fresh_ns;
	bool by_path_logged; /* it was logged that /proc/PID/map_files cannot be used */
	bool slow_logged;    /* it was logged that detaching will take seconds */
};

uint64_t library_key(const struct gp_vma *vma);
/* Returns the numbers by which the kernel identifies the library's file. */
struct gp_vma library_file(const struct library *lib);
void library_free(void *lib);
/* Returns the library of a file, made when new. NULL: no room or no memory. */
struct library *library_get(struct libraries *ls, const struct gp_vma *vma);
/* Finds the path by which the process mapped the file. Returns 0 or -errno; an error that affects
 * the whole process is also stored in ls->closed. */
int library_path(struct libraries *ls, pid_t pid, const struct gp_vma *vma, char path[PATH_MAX]);
/* Chooses the library's state by its file name. Returns 0 or -errno. */
int library_classify(struct libraries *ls, struct library *lib, pid_t pid,
		     const struct gp_vma *vma);
/* For a program that no row names: selects the rows of runtimes that the process uses, if the
 * library of the row may be linked into the program. Returns false when there are none. */
bool library_classify_program(struct libraries *ls, struct library *lib, pid_t pid,
			      const struct gp_vma *vma);

/* library_budget.c */
struct cost;
/* Call before sites_attach() for new sites: those of group measure get no link. library_settle()
 * attaches them once something is measured. */
void library_leave_idle(const struct library_deps *deps, struct site *sites, size_t n);
/* Attaches and detaches the groups that the budget controls, as the budget has decided. */
void library_settle(const struct library_deps *deps, struct library *lib, const struct cost *cost);

#endif
