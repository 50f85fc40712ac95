/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the checkpoints of one job: the steps in them, and the checkpoint that is read
 * again. A checkpoint is a file, or a folder of files. A file written under a temporary name is
 * complete once it is renamed; torch's distributed checkpoint is complete once .metadata exists.
 * Pure; memory is bounded: the last CHECKPOINTS_MAX are kept. Paths are escaped texts
 * (event_text()) that may have lost their beginning. Times in ns, CLOCK_MONOTONIC, except
 * mtime_ns. */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/job/checkpoint_name.h"

#define CHECKPOINTS_MAX	 256 /* checkpoints kept of a job */
#define CHECKPOINT_FILES 8   /* files kept of a folder: the first ones and the last one */

struct checkpoint_file {
	uint64_t dev, ino;
	uint64_t bytes, mtime_ns;
	uint32_t generation;
	uint32_t name; /* hash of the last part of the path; set by this module */
};

struct checkpoint {
	uint64_t number; /* 1, 2, 3... within the job; 0: none */
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t step;	     /* last step in the checkpoint; 0: none, or unknown */
	uint64_t named_step; /* step in the path, when numbered */
	uint64_t born_ns;    /* start of the thread that wrote the first file; 0: unknown */
	uint32_t pid, tid;   /* the thread that wrote the first file */
	uint32_t files;	     /* number of files written so far */
	enum checkpoint_format format;
	bool numbered;
	bool folder; /* a folder of files */
	/* The name or the serializer shows that this is a checkpoint. Without it, a file counts as
	 * one only if a restart reads it. */
	bool likely;
	bool whole;	/* complete, as far as can be known */
	bool stepped;	/* step is known */
	bool estimated; /* step is deduced */
	struct checkpoint_file file[CHECKPOINT_FILES];
	char path[GP_PATH_MAX];
};

struct checkpoints;
struct checkpoints *checkpoints_new(void); /* NULL: no memory */
void checkpoints_free(struct checkpoints *c);
void checkpoints_archive(struct archive *a, struct checkpoints **c);

/* Adds a checkpoint known from another node, as the newest. Returns 0 or -ENOMEM. */
int checkpoints_know(struct checkpoints *c, const struct checkpoint *k);

/* A file that was written. */
struct checkpoint_write {
	struct checkpoint_file file;
	const char *path;
	uint64_t begin_ns, end_ns, born_ns;
	uint32_t pid, tid;
	uint64_t step; /* last step done when the writing began, as far as known */
	/* a serializer wrote the file, so it is a checkpoint whatever its name */
	bool likely;
};
/* Adds a file. Returns the file's checkpoint, valid until the next call; NULL when there is no
 * memory. */
const struct checkpoint *checkpoints_wrote(struct checkpoints *c, const struct checkpoint_write *w);
/* A process renamed a file or folder. Returns the checkpoint that this completed, or NULL. */
const struct checkpoint *checkpoints_renamed(struct checkpoints *c, uint32_t pid, const char *from,
					     const char *to, uint64_t now_ns);
/* Selects checkpoints that a thread of a process began to write within a time, and folders that any
 * thread of the process wrote. */
struct checkpoint_span {
	uint32_t pid, tid;
	uint64_t from_ns, to_ns;
};
/* Returns the newest selected checkpoint whose step is unknown, preferring likely ones; NULL:
 * none. */
const struct checkpoint *checkpoints_of(const struct checkpoints *c,
					const struct checkpoint_span *s);
/* Sets the last step in the selected checkpoint. */
void checkpoints_stepped(struct checkpoints *c, const struct checkpoint_span *s, uint64_t step,
			 bool estimated);
/* Returns true when the thread that wrote k existed throughout and wrote another checkpoint before
 * k. *ret_step: last step in a checkpoint before k by any thread; 0: none known. */
bool checkpoints_before(const struct checkpoints *c, const struct checkpoint *k,
			uint64_t *ret_step);
/* Raises the step of checkpoints that process pid wrote from from_ns on to at least `step`. The
 * step stays uncertain. */
void checkpoints_raise(struct checkpoints *c, uint32_t pid, uint64_t from_ns, uint64_t step);
/* Returns the newest checkpoint that is likely, complete, and ended by by_ns; NULL: none. */
const struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t by_ns);

/* Ways in which a file that is read was recognised, most certain first. */
#define CHECKPOINT_HOWS(X)                                                                         \
	X(0, none)    /* not recognised */                                                         \
	X(1, inode)   /* device, inode, size and time equal those of a file written */             \
	X(2, path)    /* same path, size and time */                                               \
	X(3, copy)    /* same name, size and time: a copy, or moved */                             \
	X(4, changed) /* same device and inode; written to since */                                \
	X(5, size)    /* same path and size */                                                     \
	X(6, number)  /* not recognised, but its name has the step of a known one */               \
	X(7, newest)  /* read, but files are not watched: the last one is assumed */               \
	X(8, nothing) /* no checkpoint was read: starts from the beginning */

enum checkpoint_how {
#define X(id, name) CHECKPOINT_BY_##name = id,
	CHECKPOINT_HOWS(X)
#undef X
		CHECKPOINT_HOW_COUNT
};
extern const char *const checkpoint_how_name[CHECKPOINT_HOW_COUNT];

struct checkpoint_match {
	enum checkpoint_how how;
	double confidence; /* 0 to 1 */
	uint64_t number;   /* number of the checkpoint; 0: none */
	uint64_t step;
	uint32_t pid; /* process that wrote the checkpoint */
	bool stepped; /* step is known */
	bool likely;
	bool estimated; /* step is deduced */
};
/* Finds the checkpoint that a file read belongs to. Returns false, with *ret unchanged, when the
 * file belongs to no checkpoint of the job. */
bool checkpoints_match(const struct checkpoints *c, const struct checkpoint_file *f,
		       const char *path, struct checkpoint_match *ret);

/* ---- files that a process reads before its first step: the checkpoint that it resumes from --- */

struct checkpoint_resume {
	struct checkpoint_match best; /* best match among the files read */
	uint32_t matched;	      /* number of files recognised */
	uint64_t named_step;	      /* step in the name of the last file not recognised */
	bool numbered;		      /* named_step is valid */
	uint32_t unmatched;	      /* hash of the path of that file */
};

/* Adds a file read. m: NULL when the file was not recognised; n: classification of its name. */
void checkpoint_resume_read(struct checkpoint_resume *r, const struct checkpoint_match *m,
			    const char *path, const struct checkpoint_name *n);
/* Returns the point from which a process that began at began_ns resumes: the checkpoint that it
 * read, else an estimate (how >= CHECKPOINT_BY_number), which must be reported as one. Call it when
 * the first step of the process is known. c may be NULL. first: hash of the unrecognised file that
 * the first run of the job read before its first step; reading that file again proves nothing; 0:
 * none. */
struct checkpoint_match checkpoint_resumed(const struct checkpoint_resume *r,
					   const struct checkpoints *c, uint64_t began_ns,
					   uint32_t first);
/* Returns true when the match is an estimate. */
static inline bool checkpoint_estimated(const struct checkpoint_match *m)
{
	return m->how >= CHECKPOINT_BY_number || m->estimated;
}
void checkpoint_resume_archive(struct archive *a, struct checkpoint_resume *r);

#endif
