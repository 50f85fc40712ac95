/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_frame.h - finds where entries of a log begin and end. A log consists of JSON lines, of
 * consecutive objects, or of one array of objects; each entry may extend over several lines.
 *
 * Only quotes and brackets are checked; other code parses the JSON. Entries are separated by
 * blanks, NUL bytes (holes left by a crashed file system), byte order marks, commas, and the
 * brackets of an outermost array.
 *
 * A malformed entry is reported as broken. If it began on an earlier line than the error, scanning
 * continues at the line with the error, and the rest of the entry is skipped. Otherwise scanning
 * continues at the next line. The result does not depend on how the caller splits the bytes. Every
 * byte is scanned at most twice. Pure. */
#ifndef INGEST_GOODPUT_FRAME_H
#define INGEST_GOODPUT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_DEPTH_MAX 512

struct goodput_frame {
	const char *at, *end; /* available bytes that were not consumed yet */
	uint64_t line;	      /* line number of `at`, counted from 1 */
	bool in_array;	      /* inside an outermost array */
	enum { SKIP_NOTHING, SKIP_LINE, SKIP_VALUE } skip;
	/* The bytes at `at` are the rest of an entry that broke on an earlier line. */
	bool torn;
	/* The following members are the state of the scan of the entry that begins at `at`. */
	size_t seen;	   /* number of bytes of the entry that were scanned */
	size_t line_start; /* offset in the entry of the last line that was scanned */
	bool in_text, escaped;
	char last; /* last byte outside of strings that is not a blank */
	unsigned int depth;
	/* One bit for each level of nesting: 1 for an array, 0 for an object. */
	uint64_t arrays[GOODPUT_DEPTH_MAX / 64];
};

enum goodput_framed { FRAME_MORE, FRAME_ENTRY, FRAME_BROKEN };

void goodput_frame_start(struct goodput_frame *f); /* call at the beginning of a file */
/* Sets the available bytes: first those that were not consumed, which the caller may have moved,
 * then new ones. */
void goodput_frame_feed(struct goodput_frame *f, const char *at, const char *end);
/* Skips separators. Returns true if an entry begins at f->at. */
bool goodput_frame_begin(struct goodput_frame *f);
/* Finds the end of the entry at f->at. Call after goodput_frame_begin() returned true. Returns
 * FRAME_ENTRY: the entry is an object of *ret_len bytes, which the caller must skip with
 * goodput_frame_pass(); FRAME_BROKEN: the entry is malformed and was skipped, *ret_why is the
 * reason (static); FRAME_MORE: the entry continues after f->end. */
enum goodput_framed goodput_frame_scan(struct goodput_frame *f, size_t *ret_len,
				       const char **ret_why);
void goodput_frame_pass(struct goodput_frame *f, size_t len);
/* Returns true if the available bytes end within an entry. */
bool goodput_frame_open(const struct goodput_frame *f);

#endif
