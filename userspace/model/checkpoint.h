/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the checkpoints of one job: what was written, after which step, and what is read
 * again.
 *
 * Pure; memory is bounded: the last CHECKPOINTS_MAX are kept. Paths are escaped texts
 * (event_text()) that may have lost their beginning. A checkpoint is a file, or a folder of them;
 * written under a temporary name it is whole once it is renamed, torch's distributed one once
 * .metadata is there.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/checkpoint_name.h"

#define CHECKPOINTS_MAX	 256 /* of a job */
#define CHECKPOINT_FILES 8   /* of a folder: the first ones and the last one */

struct checkpoint_file {
	uint64_t dev, ino;
	uint64_t bytes, mtime_ns;
	uint32_t generation;
	uint32_t name; /* hash of its last part; set by whoever keeps it */
};

struct checkpoint {
	uint64_t number; /* 1, 2, 3... of the job; 0: none */
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t step;	     /* last step done when it began; 0: none, or not known */
	uint64_t named_step; /* that its name tells, when numbered */
	uint32_t pid;
	uint32_t files; /* ever */
	enum checkpoint_format format;
	bool numbered;
	bool folder;  /* of files */
	bool likely;  /* its name, or a serializer, says so; else only what a restart reads makes it
			 one */
	bool whole;   /* complete, as far as can be told */
	bool stepped; /* step is for certain */
	struct checkpoint_file file[CHECKPOINT_FILES];
	char path[GP_PATH_MAX];
};

struct checkpoints;
struct checkpoints *checkpoints_new(void); /* NULL: no memory */
void checkpoints_free(struct checkpoints *c);
void checkpoints_archive(struct archive *a, struct checkpoints **c);

/* One that is known from elsewhere, the newest of all. 0 or -ENOMEM. */
int checkpoints_know(struct checkpoints *c, const struct checkpoint *k);

struct checkpoint_write {
	struct checkpoint_file file;
	const char *path;
	uint64_t begin_ns, end_ns;
	uint32_t pid;
	uint64_t step; /* last one done when it began, as far as is known yet */
	bool likely;   /* a serializer wrote it: whatever its name */
};
/* The checkpoint that the file is part of, valid until the next call; NULL: no memory. */
const struct checkpoint *checkpoints_wrote(struct checkpoints *c, const struct checkpoint_write *w);
/* By the process itself. The checkpoint that is whole by it, or NULL. */
const struct checkpoint *checkpoints_renamed(struct checkpoints *c, uint32_t pid, const char *from,
					     const char *to, uint64_t now_ns);
/* What the process wrote within that time was written after this step. The newest of it, or NULL.
 */
const struct checkpoint *checkpoints_stepped(struct checkpoints *c, uint32_t pid, uint64_t from_ns,
					     uint64_t to_ns, uint64_t step);
/* What it wrote from from_ns on has that step, at least; nothing is for certain by that. */
void checkpoints_raise(struct checkpoints *c, uint32_t pid, uint64_t from_ns, uint64_t step);
/* The newest one that is likely, whole, and ended by then; NULL: none. */
const struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t by_ns);

/* How a file that is read was recognised, surest first. */
#define CHECKPOINT_HOWS(X)                                                                         \
	X(0, none) /* not at all */                                                                \
	X(1,                                                                                       \
	  inode) /* device, inode, size and time of the file are those of one that was written */  \
	X(2, path)    /* path, size and time */                                                    \
	X(3, copy)    /* name, size and time: it was copied, or lies elsewhere now */              \
	X(4, changed) /* device and inode; somebody has written to it since */                     \
	X(5, size)    /* path and size */                                                          \
	X(6, number)  /* not recognised: its name tells the step of one that is */                 \
	X(7, newest)  /* not recognised: the last whole one is taken */                            \
	X(8, nothing) /* no checkpoint was read: from the beginning */

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
	uint64_t number;   /* of the checkpoint; 0: none */
	uint64_t step;
	uint32_t pid; /* that wrote it */
	bool stepped; /* step is for certain */
	bool likely;
};
/* false: no checkpoint of the job; *ret is left alone. */
bool checkpoints_match(const struct checkpoints *c, const struct checkpoint_file *f,
		       const char *path, struct checkpoint_match *ret);

/* ---- what a process reads before its first step: where it goes on from
 * ----------------------------------
 */

struct checkpoint_resume {
	struct checkpoint_match best; /* of what was read */
	uint32_t matched,
		others;	     /* files; others look like checkpoints but are none of this job's */
	uint64_t named_step; /* that an unmatched one's name tells */
	bool numbered;
};

/* m: NULL when the file was not recognised; n: what its name says. */
void checkpoint_resume_read(struct checkpoint_resume *r, const struct checkpoint_match *m,
			    const struct checkpoint_name *n);
/* Where a process that began then goes on from: what it read, else an estimate (how >=
 * CHECKPOINT_BY_number), which is to be told as such. Call it when its first step is known. c may
 * be NULL. */
struct checkpoint_match checkpoint_resumed(const struct checkpoint_resume *r,
					   const struct checkpoints *c, uint64_t began_ns);
static inline bool checkpoint_estimated(const struct checkpoint_match *m)
{
	return m->how >= CHECKPOINT_BY_number;
}
void checkpoint_resume_archive(struct archive *a, struct checkpoint_resume *r);

#endif
