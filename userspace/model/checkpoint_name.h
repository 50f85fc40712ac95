/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_name.h - what a path says of a file: whether it is part of a checkpoint, of which one,
 * of what step. Pure; any bytes are fine. */
#ifndef MODEL_CHECKPOINT_NAME_H
#define MODEL_CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum checkpoint_format {
	CHECKPOINT_NONE,	/* the name says nothing */
	CHECKPOINT_TORCH,	/* torch.save */
	CHECKPOINT_DISTRIBUTED, /* torch.distributed.checkpoint: a folder, whole once .metadata is
				   there */
	CHECKPOINT_SAFETENSORS,
	CHECKPOINT_NUMPY,
	CHECKPOINT_MSGPACK,
	CHECKPOINT_ORBAX, /* a folder, renamed when it is whole */
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
	bool folder;	/* the checkpoint is a folder of files */
	bool temporary; /* it is to be renamed when it is whole */
	bool last;	/* the file that is written last, by which the folder is whole */
	bool data;	/* data sets have such names too */
	bool log;	/* lines that are added to: no part of a checkpoint, wherever it lies */
	bool numbered;
	uint64_t step; /* that the name tells, when numbered */
	size_t len;    /* of the part of the path that names the checkpoint */
};

struct checkpoint_name checkpoint_name(const char *path);

/* Is one of two paths the end of the other, part by part? "a/b.pt" is of "/srv/a/b.pt". */
bool checkpoint_path_same(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
