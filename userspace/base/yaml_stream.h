/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_stream.h - reads a YAML text part by part (scalars, mappings, lists), with the line of each
 * part. Aliases, and parts that are nested too deeply, are errors. A stream must be used by one
 * thread only. */
#ifndef BASE_YAML_STREAM_H
#define BASE_YAML_STREAM_H

#include <stddef.h>

#define YAML_DEPTH_MAX 8 /* most mappings and lists that may be nested */

enum yaml_part_kind {
	YAML_PART_SCALAR, /* a key or a value */
	YAML_PART_MAPPING,
	YAML_PART_LIST,
	YAML_PART_CLOSE, /* end of the innermost mapping or list that is open */
	YAML_PART_END,	 /* the end of the text */
};

/* A part of a YAML text */
struct yaml_part {
	enum yaml_part_kind kind;
	int line;	  /* line number, from 1 */
	const char *text; /* text of a scalar, valid until the next call */
};

struct yaml_stream; /* opaque */

/* Starts reading a text. name: of the file, for messages. The caller keeps name and text until it
 * closes the stream. Returns 0 or -ENOMEM. */
int yaml_stream_open(struct yaml_stream **ret, const char *name, const char *text, size_t len);
/* Reads the next part. Returns 0, or -EINVAL after logging "NAME:LINE: reason". Do not call it
 * again after an error or YAML_PART_END. */
int yaml_stream_next(struct yaml_stream *s, struct yaml_part *ret);
void yaml_stream_close(struct yaml_stream *s); /* NULL is allowed */

#endif
