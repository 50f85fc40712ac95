/* SPDX-License-Identifier: Apache-2.0 */
/* sink_private.h - what sink.c, which writes itself, and sink_aside.c, which has a file written
 * aside, share. */
#ifndef EXPORT_SINK_PRIVATE_H
#define EXPORT_SINK_PRIVATE_H

#include "userspace/export/file/outlet.h"
#include "userspace/export/file/sink.h"

#define SINK_BATCH_BYTES (64u << 10)

struct sink {
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
	/* For a sink that a helper process writes: */
	struct outlet *outlet;	   /* NULL: it is not */
	size_t going;		   /* of text, behind what is written */
	uint64_t asked_ns;	   /* ... since */
	bool dead;		   /* ... for so long that it was told */
	uint64_t again_ns;	   /* after an error: the next try */
	struct outlet_bound bound; /* bytes 0: none */
	uint64_t removed;	   /* lines that went with the oldest file */
	uint64_t gap;		   /* lines dropped here, at the end of text ... */
	uint64_t before;	   /* ... and of them, those that no count of ours has */
	int worst;		   /* the last error that cost lines */
	sink_gap_fn *gap_line;
	void *ctx;
};

/* The newest line goes from text. */
void sink_cut(struct sink *s);
/* Written bytes are removed from text. */
void sink_shrink(struct sink *s);

/* Until then; 0: it is past. */
int sink_left_ms(uint64_t until_ns);

void sink_aside_line(struct sink *s);
void sink_aside_flush(struct sink *s);
/* For what is on its way to be written, until then. */
void sink_aside_wait(struct sink *s, uint64_t until_ns);
int sink_aside_close(struct sink *s);

#endif
