/* SPDX-License-Identifier: Apache-2.0 */
/* goodput_frame.h - where an entry of a log begins and ends: JSON lines, objects one after the
 * other, one array of them, on a line or over many.
 *
 * It looks at quotes and brackets only; whether an entry is JSON is for others to tell. Blanks, NUL
 * bytes (holes of a file system that crashed), byte order marks, commas and the brackets of an
 * outermost array stand between entries. What cannot be an entry is broken; reading goes on at the
 * line where that showed when the entry began on an earlier one (what is left of that entry is
 * passed), else at the next line. Bytes come in pieces of any size: the same entries come out.
 * Every byte is looked at twice at most. Pure. */
#ifndef INGEST_GOODPUT_FRAME_H
#define INGEST_GOODPUT_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOODPUT_DEPTH_MAX 512

struct goodput_frame {
	const char *at, *end; /* not yet passed */
	uint64_t line;	      /* of `at`, from 1 */
	bool in_array;	      /* the outermost one */
	enum { SKIP_NOTHING, SKIP_LINE, SKIP_VALUE } skip;
	bool torn; /* what follows is the rest of an entry that broke on an earlier line */
	/* of the entry that begins at `at` */
	size_t seen;	   /* bytes looked at; 0: none, a new entry */
	size_t line_start; /* of the last line of those */
	bool in_text, escaped;
	char last; /* byte that is no blank, outside of texts */
	unsigned int depth;
	uint64_t arrays[GOODPUT_DEPTH_MAX / 64]; /* bit: that level is an array, not an object */
};

enum goodput_framed { FRAME_MORE, FRAME_ENTRY, FRAME_BROKEN };

void goodput_frame_start(struct goodput_frame *f); /* of a file */
/* The unread bytes, those of before included: they may have moved. */
void goodput_frame_feed(struct goodput_frame *f, const char *at, const char *end);
/* Passes what stands between entries. Does something begin at f->at? */
bool goodput_frame_begin(struct goodput_frame *f);
/* ENTRY: an object, *ret_len bytes from f->at on: the caller passes them; BROKEN: passed, *ret_why
 * is why, in static words; MORE: it goes on beyond f->end. After goodput_frame_begin() said yes. */
enum goodput_framed goodput_frame_scan(struct goodput_frame *f, size_t *ret_len,
				       const char **ret_why);
void goodput_frame_pass(struct goodput_frame *f, size_t len);
/* Does something lack its end, if nothing follows? */
bool goodput_frame_open(const struct goodput_frame *f);

#endif
