/* SPDX-License-Identifier: Apache-2.0 */
/* reader_private.h - messages between the two sides of the reader. A request is a struct
 * reader_ask; an answer is a struct reader_reply followed by its sites. With an answer without an
 * error, a descriptor of the library is sent (SCM_RIGHTS). */
#ifndef LOADER_READER_PRIVATE_H
#define LOADER_READER_PRIVATE_H

#include "loader/reader/reader.h"

/* Head of an answer from a reader process */
struct reader_reply {
	/* Address at which the reader maps the file. The caller uses the address to look up the
	 * kernel's device and inode numbers of the file. */
	uint64_t map_start;
	int32_t error;
	uint16_t by_path;
	uint16_t last; /* the last message: the reader has dropped its privileges and ends */
	uint64_t count;
};

/* Limit of sites in an answer: a message must fit the socket's buffer in one piece. */
#define READER_SITES_MAX (SITES_FOUND_MAX + GP_ROWS_MAX)

/* Answers requests from the socket until its other end is closed; does not return. */
_Noreturn void reader_serve(int fd, const struct probe_table *probes, const char *cache_dir);

#endif
