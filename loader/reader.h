/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - reads libraries of watched processes, in processes of our own. A file may never answer
 * (a dead network file system, FUSE in the hands of a job), and whoever waits for it can then not
 * even be killed; so that is never the process that drains the rings, holds the links and must end
 * when it is told to.
 *
 * At most 4 readers work at once; one that does not come back within seconds is killed, and
 * forgotten when not even that helps, of which there may be 4 more. A file's result is its sites
 * and a descriptor that only names it (O_PATH: opening, using and closing it asks nothing of its
 * file system). */
#ifndef LOADER_READER_H
#define LOADER_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_private.h"
#include "loader/probe_file.h"
#include "loader/site.h"

struct bpf_program;
struct reader;

struct reader_ask {
	uint64_t ticket; /* the caller's name for it */
	pid_t pid;
	struct gp_vma vma; /* of a file that pid maps */
	uint64_t followed; /* where a function of rows[0] is said to begin; 0: they are found by
			      name */
	bool memory;	   /* the functions of a table that pid may have in memory: */
	uint64_t table;	   /* its address; 0: not known */
	size_t rows_count;
	size_t rows[GP_ROWS_MAX]; /* to find sites for */
	char path[PATH_MAX];	  /* see mapping_open() */
};

struct reader_answer {
	uint64_t ticket;
	pid_t pid;
	/* 0; -ESRCH, -ENOENT, -ESTALE: the process or its mapping is gone, another one may have it
	 * still; -ETIMEDOUT: the file does not answer; else what is wrong with the file. */
	int error;
	bool by_path;	    /* map_files was closed to us */
	struct site *sites; /* malloc'd, the caller's */
	size_t sites_count;
	int fd; /* O_PATH, the caller's; -1 on error */
};

/* The first reader is started here, from what this process holds now: call it before there are
 * links. Both arguments are borrowed. */
int reader_new(struct reader **ret, const struct probe_table *probes, const char *cache_dir);
/* Does not wait for readers that cannot be killed. NULL is fine. */
void reader_free(struct reader *r);

/* -EBUSY: too much waits already. */
int reader_ask(struct reader *r, const struct reader_ask *ask);
/* 1: *ret is one that was asked for; 0: none now. Never blocks. That the file is the one mapped is
 * checked by the kernel's own numbers (vmas as for mapping_list()). */
int reader_next(struct reader *r, const struct bpf_program *vmas, struct reader_answer *ret);
/* Waits until there may be an answer, or something to ask. */
void reader_wait(struct reader *r, int timeout_ms);

#endif
