/* SPDX-License-Identifier: Apache-2.0 */
/* line_writer_private.h - what line_writer.c, which writes itself, and line_writer_helper.c, which
 * has a file written aside, share. */
#ifndef EXPORT_LINE_WRITER_PRIVATE_H
#define EXPORT_LINE_WRITER_PRIVATE_H

#include "userspace/export/file/file_writer.h"
#include "userspace/export/file/line_writer.h"

#define LINE_WRITER_BATCH_BYTES (64u << 10)

struct line_writer {
	int fd;		  /* -1: none, or a FIFO that no process reads yet */
	char *fifo;	  /* its name, until one does */
	uint64_t open_ns; /* ... the next try */
	bool file;	  /* a regular file takes everything at once */
	bool bounded; /* the end waits for its reader until end_ns, else as long as it reads on */
	bool stalled; /* the reader or disk did not move during a whole wait: do not wait again
		       * until it does */
	struct buffer text;
	size_t written; /* of text; always at a place that a later write goes on from */
	uint64_t lost_lines, failed_lines;
	int error; /* the first one, nothing is written any more; aside: the one that stands */
	char path[256];
	uint64_t end_ns; /* 0: no end was told */
	/* For one that a helper process writes: */
	struct file_writer *file_writer; /* NULL: it is not */
	size_t going;			 /* of text, behind what is written */
	uint64_t asked_ns;		 /* ... since */
	bool dead;			 /* ... for so long that it was told */
	uint64_t again_ns;		 /* after an error: the next try */
	struct file_writer_bound bound;	 /* bytes 0: none */
	uint64_t removed;		 /* lines that went with the oldest file */
	uint64_t gap;			 /* lines dropped here, at the end of text ... */
	uint64_t before;		 /* ... and of them, those that no count of ours has */
	int worst;			 /* the last error that cost lines */
	line_writer_gap_fn *gap_line;
	void *ctx;
};

/* The newest line goes from text. */
void line_writer_cut(struct line_writer *s);
/* Written bytes are removed from text. */
void line_writer_shrink(struct line_writer *s);

/* Until then; 0: it is past. */
int line_writer_left_ms(uint64_t until_ns);

void line_writer_helper_line(struct line_writer *s);
void line_writer_helper_flush(struct line_writer *s);
/* For what is on its way to be written, until then. */
void line_writer_helper_wait(struct line_writer *s, uint64_t until_ns);
int line_writer_helper_close(struct line_writer *s);

#endif
