/* SPDX-License-Identifier: Apache-2.0 */
/* reader_private.h - what the two sides of reader say to each other: a struct reader_ask down; a
 * struct reader_reply, its sites behind it and a descriptor beside it, up. */
#ifndef LOADER_READER_PRIVATE_H
#define LOADER_READER_PRIVATE_H

#include "loader/reader.h"

struct reader_reply {
	uint64_t map_start; /* where the reader maps the file: the kernel tells what file that is */
	int32_t error;
	uint32_t by_path;
	uint64_t count;
};

/* A message is one piece of the socket's buffer. */
#define READER_SITES_MAX (SITES_FOUND_MAX + GP_ROWS_MAX)

/* Answers what is asked over the socket until its other end is closed; does not return. */
_Noreturn void reader_serve(int fd, const struct probe_table *probes, const char *cache_dir);

#endif
