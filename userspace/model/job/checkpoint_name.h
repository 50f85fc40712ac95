/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_name.h - classifies the path of a file: whether it is part of a checkpoint, and the
 * checkpoint's name and step. Pure; accepts any bytes. */
#ifndef MODEL_CHECKPOINT_NAME_H
#define MODEL_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum checkpoint_format {
	CHECKPOINT_NONE,  /* the name shows nothing */
	CHECKPOINT_TORCH, /* torch.save */
	/* torch.distributed.checkpoint: a folder, complete once .metadata exists. */
	CHECKPOINT_DISTRIBUTED,
	CHECKPOINT_SAFETENSORS,
	CHECKPOINT_NUMPY,
	CHECKPOINT_MSGPACK,
	CHECKPOINT_ORBAX, /* a folder, renamed when complete */
	CHECKPOINT_TENSORFLOW,
	CHECKPOINT_LIGHTNING,
	CHECKPOINT_HUGGINGFACE, /* a folder checkpoint-N */
	CHECKPOINT_OTHER,
	CHECKPOINT_KERAS,
	CHECKPOINT_FORMATS
};
extern const char *const checkpoint_format_name[CHECKPOINT_FORMATS];

struct checkpoint_name {
	enum checkpoint_format format;
	bool folder;	/* the checkpoint is a folder */
	bool temporary; /* the file will be renamed when complete */
	bool last;	/* the file is written last: it completes the folder */
	bool data;	/* files of data sets have such names, too */
	bool listed;	/* the file is read from every checkpoint, to list them */
	bool log;	/* a log: never part of a checkpoint */
	bool numbered;
	uint64_t step; /* step in the name, when numbered */
	size_t len;    /* bytes of the path that name the checkpoint */
};

struct checkpoint_name checkpoint_name(const char *path);

/* Returns true when the name alone shows that a run which reads this file resumes. Files of weights
 * and data are also read by new runs. */
bool checkpoint_name_resumes(const struct checkpoint_name *n);

/* Returns the largest number within from..to in the last part of the path; 0: none. For names that
 * give the step without a keyword: "ck-800.pt". */
uint64_t checkpoint_name_number(const char *path, uint64_t from, uint64_t to);

/* Returns true when one path is the end of the other, by whole parts: "a/b.pt" and "/srv/a/b.pt".
 */
bool checkpoint_path_same(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
