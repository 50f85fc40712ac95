/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - reads libraries of watched processes, in separate processes (readers).
 *
 * A read of a file may never return (a dead network file system, FUSE controlled by a job), and a
 * process that waits for it cannot even be killed. This must not happen to the main process, which
 * drains the rings, holds the links and must end on request.
 *
 * At most 4 readers work at once. A reader that does not answer within seconds is killed, and
 * abandoned if that fails; up to 4 abandoned ones may exist in addition. The result for a file is
 * its sites and a descriptor that only names it (O_PATH: opening, using and closing it does not
 * access the file system).
 *
 * A file system may let only one user read it, not root (FUSE without allow_other, NFS with
 * root_squash). Then the reader permanently takes the user and groups of the process that maps the
 * file, reads that one file, and ends. */
#ifndef LOADER_READER_H
#define LOADER_READER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_private.h"
#include "loader/probe/probe_file.h"
#include "loader/site/site.h"

struct bpf_program;
struct reader;

/* A request to read a file */
struct reader_ask {
	uint64_t ticket; /* identifies the request to the caller */
	pid_t pid;
	struct gp_vma vma; /* a file mapped by pid */
	/* offset of the function of rows[0], if a watched process reported the function's address;
	 * 0: find functions by name */
	uint64_t followed;
	size_t rows_count;
	size_t rows[GP_ROWS_MAX]; /* rows to find sites for */
	char path[PATH_MAX];	  /* see mapping_name() */
};

/* The answer to a request */
struct reader_answer {
	uint64_t ticket;
	pid_t pid;
	/* 0; -ESRCH, -ENOENT, -ESTALE: the process or its mapping is gone (another process may
	 * still have it); -ETIMEDOUT: reading the file took too long; -EACCES: gp-bpf may not read
	 * the file, and may not become the user of the process that maps it; -GP_ERROR_CLOSED: that
	 * user may not read the file, either; other errors: the file is invalid. */
	int error;
	bool by_path;	    /* opened by its path: /proc/PID/map_files was not accessible */
	struct site *sites; /* malloc'd, owned by the caller */
	size_t sites_count;
	int fd; /* O_PATH, owned by the caller; -1 on error */
};

/* Starts the first reader. Call before probes are attached, because the reader inherits all open
 * descriptors. Both arguments are borrowed. Returns 0 or -errno. */
int reader_new(struct reader **ret, const struct probe_table *probes, const char *cache_dir);
/* Does not wait for readers that cannot be killed. NULL is allowed. */
void reader_free(struct reader *r);

/* Queues a request. Returns 0, or -EBUSY: too many are waiting. */
int reader_ask(struct reader *r, const struct reader_ask *ask);
/* Returns 1 and an answer, or 0 when there is none now. Never blocks. Verifies by the kernel's
 * device and inode numbers that the file read is the one mapped (vmas: as for mapping_list()). */
int reader_next(struct reader *r, const struct bpf_program *vmas, struct reader_answer *ret);
/* Waits until there may be an answer, or room for a request. */
void reader_wait(struct reader *r, int timeout_ms);

#endif
