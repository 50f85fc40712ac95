/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_frame.h - finds where entries of a log begin and end: JSON lines, consecutive objects, or
 * one array of them, each on one or several lines.
 *
 * It only checks quotes and brackets; other code parses the JSON. Blanks, NUL bytes (holes left by
 * a crashed file system), byte order marks, commas and the brackets of an outermost array separate
 * entries. A malformed entry is reported as broken. If it began on an earlier line, reading
 * continues at the line where the error was found, and the rest of the entry is skipped; else at
 * the next line. Bytes may come in pieces of any size; the entries are the same. Every byte is read
 * twice at most. Pure. */
#ifndef INGEST_GOODPUT_FRAME_H
#define INGEST_GOODPUT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_DEPTH_MAX 512

struct goodput_frame {
	const char *at, *end; /* bytes that are not used yet */
	uint64_t line;	      /* number of the line of `at`, from 1 */
	bool in_array;	      /* inside an outermost array */
	enum { SKIP_NOTHING, SKIP_LINE, SKIP_VALUE } skip;
	bool torn; /* the rest of an entry that broke on an earlier line follows */
	/* state of the entry that begins at `at` */
	size_t seen;	   /* bytes scanned; 0: none, a new entry */
	size_t line_start; /* begin of the last scanned line */
	bool in_text, escaped;
	char last; /* last byte that is not blank, outside of strings */
	unsigned int depth;
	/* A bit for each level of nesting: 1: an array, 0: an object. */
	uint64_t arrays[GOODPUT_DEPTH_MAX / 64];
};

enum goodput_framed { FRAME_MORE, FRAME_ENTRY, FRAME_BROKEN };

void goodput_frame_start(struct goodput_frame *f); /* at the beginning of a file */
/* Sets the unread bytes, which include earlier ones and may have moved. */
void goodput_frame_feed(struct goodput_frame *f, const char *at, const char *end);
/* Skips separators. Returns whether an entry begins at f->at. */
bool goodput_frame_begin(struct goodput_frame *f);
/* Call after goodput_frame_begin() returned true. ENTRY: an object of *ret_len bytes at f->at,
 * which the caller skips; BROKEN: skipped, *ret_why is the reason, static text; MORE: the entry
 * continues after f->end. */
enum goodput_framed goodput_frame_scan(struct goodput_frame *f, size_t *ret_len,
				       const char **ret_why);
void goodput_frame_pass(struct goodput_frame *f, size_t len);
/* Returns true if an entry has begun and is not complete. */
bool goodput_frame_open(const struct goodput_frame *f);

#endif
