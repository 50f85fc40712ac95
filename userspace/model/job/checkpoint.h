/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h - the checkpoints of one job: which steps they contain, and from which one a run
 * resumed.
 *
 * A checkpoint is a file, or a folder of files. A file with a temporary name is complete once it is
 * renamed; a checkpoint of torch.distributed is complete once its .metadata exists. The last
 * CHECKPOINTS_MAX checkpoints are kept. Paths are escaped (event_text()) and may have lost their
 * beginning. Times are in ns, CLOCK_MONOTONIC, except mtime_ns. These functions do not access
 * files. */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"
#include "userspace/model/job/checkpoint_name.h"

#define CHECKPOINTS_MAX 256 /* maximum number of checkpoints kept for a job */
/* Maximum number of files kept for a folder: the first ones and the last one. */
#define CHECKPOINT_FILES 8

struct checkpoint_file {
	uint64_t dev, ino;
	uint64_t bytes, mtime_ns;
	uint32_t generation;
	uint32_t name; /* hash of the last part of the path; only checkpoint.c sets it */
};

struct checkpoint {
	uint64_t number; /* counts from 1 within the job; 0: no checkpoint */
	uint64_t begin_ns, end_ns;
	uint64_t bytes;
	uint64_t step;	     /* last step in the checkpoint; 0: none, or unknown */
	uint64_t named_step; /* step in the path, if numbered is set */
	uint64_t born_ns;    /* start of the thread that wrote the first file; 0: unknown */
	uint32_t pid, tid;   /* the thread that wrote the first file */
	uint32_t files;	     /* number of files written so far */
	enum checkpoint_format format;
	bool numbered;
	bool folder; /* a folder of files */
	/* The file name, or the function that wrote the file, shows that this is a checkpoint.
	 * Otherwise it counts as one only if a restart reads it. */
	bool likely;
	bool whole;	/* complete, as far as gp-bpf can see */
	bool stepped;	/* step is known */
	bool estimated; /* step is deduced */
	struct checkpoint_file file[CHECKPOINT_FILES];
	char path[GP_PATH_MAX];
};

struct checkpoints;
struct checkpoints *checkpoints_new(void); /* NULL: no memory */
void checkpoints_free(struct checkpoints *c);
void checkpoints_archive(struct archive *a, struct checkpoints **c);

/* Adds a checkpoint that was written on another node, as the newest one. Returns 0 or -ENOMEM. */
int checkpoints_know(struct checkpoints *c, const struct checkpoint *k);

/* A file that a process wrote. */
struct checkpoint_write {
	struct checkpoint_file file;
	const char *path;
	uint64_t begin_ns, end_ns, born_ns;
	uint32_t pid, tid;
	uint64_t step; /* last step that ended before the writing began, if known */
	/* a function that saves checkpoints wrote the file, so its name does not matter */
	bool likely;
};
/* Adds a file that was written. Returns the file's checkpoint, or NULL if there is no memory. The
 * pointer is valid until the next call. */
const struct checkpoint *checkpoints_wrote(struct checkpoints *c, const struct checkpoint_write *w);
/* Handles the renaming of a file or folder by a process. Returns the checkpoint to which it
 * belongs, which may be complete now, or NULL. */
const struct checkpoint *checkpoints_renamed(struct checkpoints *c, uint32_t pid, const char *from,
					     const char *to, uint64_t now_ns);
/* Selects checkpoints of a process: files that thread tid began to write between from_ns and to_ns,
 * and folders that any of its threads wrote in that time. */
struct checkpoint_span {
	uint32_t pid, tid;
	uint64_t from_ns, to_ns;
};
/* Returns the newest checkpoint in the span whose step is unknown, or NULL. Prefers files that are
 * likely checkpoints (checkpoint.likely). */
const struct checkpoint *checkpoints_of(const struct checkpoints *c,
					const struct checkpoint_span *s);
/* Sets the last step that the selected checkpoints contain, if it is not known yet. */
void checkpoints_stepped(struct checkpoints *c, const struct checkpoint_span *s, uint64_t step,
			 bool estimated);
/* Returns true if the thread that wrote k already existed and wrote another checkpoint before k.
 * *ret_step: last step in an earlier checkpoint by any thread; 0: unknown. */
bool checkpoints_before(const struct checkpoints *c, const struct checkpoint *k,
			uint64_t *ret_step);
/* For checkpoints that process pid began to write at or after from_ns, and whose step is not known:
 * raises a guessed step that is lower than `step` to `step`. */
void checkpoints_raise(struct checkpoints *c, uint32_t pid, uint64_t from_ns, uint64_t step);
/* Returns the newest checkpoint that is likely one, is complete, and was finished by by_ns; or
 * NULL. */
const struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t by_ns);

/* How a file that a process read was recognised as part of a checkpoint, the most certain way
 * first. */
#define CHECKPOINT_HOWS(X)                                                                         \
	X(0, none)    /* not recognised */                                                         \
	X(1, inode)   /* device, inode, size and time are those of a file that was written */      \
	X(2, path)    /* path, size and time are those of a written file */                        \
	X(3, copy)    /* name, size and time are those of a written file: copied or moved */       \
	X(4, changed) /* device and inode are those of a written file, written again since */      \
	X(5, size)    /* path and size are those of a written file */                              \
	X(6, number)  /* unknown file whose name has the step of a known checkpoint */             \
	X(7, newest)  /* a restore was seen, but no file: assumes the last checkpoint */           \
	X(8, nothing) /* no checkpoint was read: the run starts from the beginning */

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
	uint64_t number;   /* number of the matched checkpoint; 0: none */
	uint64_t step;
	uint32_t pid; /* process that wrote the checkpoint */
	bool stepped; /* step is known */
	bool likely;
	bool estimated; /* step is deduced */
};
/* Finds the checkpoint to which a file belongs that was read. Returns false, and leaves *ret
 * unchanged, if it belongs to no checkpoint of the job. */
bool checkpoints_match(const struct checkpoints *c, const struct checkpoint_file *f,
		       const char *path, struct checkpoint_match *ret);

/* ---- files that a process reads before its first step: the checkpoint that it resumes from --- */

struct checkpoint_resume {
	struct checkpoint_match best; /* best match of a file that was read */
	uint32_t matched;	      /* number of files that were recognised */
	uint64_t named_step;	      /* step in the name of the last unrecognised file */
	bool numbered;		      /* named_step is valid */
	uint32_t unmatched;	      /* hash of the path of the last unrecognised file */
};

/* Notes that a file was read. m: the checkpoint it belongs to, or NULL if unknown. n:
 * classification of the path. */
void checkpoint_resume_read(struct checkpoint_resume *r, const struct checkpoint_match *m,
			    const char *path, const struct checkpoint_name *n);
/* Returns from where a process that began at began_ns resumes: the checkpoint that it read, or an
 * estimate (how >= CHECKPOINT_BY_number), which must be reported as an estimate. Call it when the
 * first step of the process is known. c may be NULL. first: hash of the unrecognised file that the
 * first run of the job read before its first step, or 0. If a later run reads that file again, this
 * does not show a resume. */
struct checkpoint_match checkpoint_resumed(const struct checkpoint_resume *r,
					   const struct checkpoints *c, uint64_t began_ns,
					   uint32_t first);
/* Returns true if the match, or the step in it, is an estimate. */
static inline bool checkpoint_estimated(const struct checkpoint_match *m)
{
	return m->how >= CHECKPOINT_BY_number || m->estimated;
}
void checkpoint_resume_archive(struct archive *a, struct checkpoint_resume *r);

#endif
