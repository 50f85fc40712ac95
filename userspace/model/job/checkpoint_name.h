/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_name.h - classifies a file by its path: whether it is part of a checkpoint, which part
 * of the path names the checkpoint, and the step in the name. Accepts any bytes; does not access
 * files. */
#ifndef MODEL_CHECKPOINT_NAME_H
#define MODEL_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum checkpoint_format {
	CHECKPOINT_NONE,  /* the name does not show a format */
	CHECKPOINT_TORCH, /* torch.save */
	/* torch.distributed.checkpoint: a folder, complete once .metadata exists. */
	CHECKPOINT_DISTRIBUTED,
	CHECKPOINT_SAFETENSORS,
	CHECKPOINT_NUMPY,
	CHECKPOINT_MSGPACK,
	CHECKPOINT_ORBAX, /* a folder that is renamed when it is complete */
	CHECKPOINT_TENSORFLOW,
	CHECKPOINT_LIGHTNING,
	/* A folder named checkpoint-N. */
	CHECKPOINT_HUGGINGFACE,
	CHECKPOINT_OTHER,
	CHECKPOINT_KERAS,
	CHECKPOINT_FORMATS
};
extern const char *const checkpoint_format_name[CHECKPOINT_FORMATS];

struct checkpoint_name {
	enum checkpoint_format format;
	bool folder;	/* the checkpoint is a folder */
	bool temporary; /* the file has a temporary name, and is renamed when complete */
	bool last;	/* the writer writes this file last: then the folder is complete */
	bool data;   /* files of data sets have such names, too, so this may not be a checkpoint */
	bool listed; /* programs read this file of every checkpoint only to list checkpoints */
	bool log;    /* a log, which is never part of a checkpoint */
	bool numbered;
	uint64_t step; /* step in the name, if numbered is set */
	size_t len;    /* number of bytes of the path that name the checkpoint */
};

struct checkpoint_name checkpoint_name(const char *path);

/* Returns true if the name alone shows that a run which reads this file resumes. New runs also read
 * files of weights and data. */
bool checkpoint_name_resumes(const struct checkpoint_name *n);

/* Returns the largest number in from..to in the last part of the path, or 0. For names that give
 * the step without a keyword, such as "ck-800.pt". */
uint64_t checkpoint_name_number(const char *path, uint64_t from, uint64_t to);

/* Returns true if one path is the end of the other, comparing whole names between slashes: "a/b.pt"
 * and "/srv/a/b.pt". */
bool checkpoint_path_same(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
