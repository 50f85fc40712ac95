/* SPDX-License-Identifier: Apache-2.0 */
/* output_private.h - struct output, shared by output.c, output_export.c and output_top.c. */
#ifndef OUTPUT_OUTPUT_PRIVATE_H
#define OUTPUT_OUTPUT_PRIVATE_H

#include <stdio.h>

#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/output/output.h"

struct output {
	struct stream *stream;
	struct model *model;
	struct export_set *exports;
	struct store_writer *store; /* NULL: none */
	struct page *page;	    /* NULL: no --html */
	struct live *live;
	struct output_top *top; /* NULL: not used */
	struct node_view node;
	struct output_sum sum;
	struct output_seen seen;
	struct table *jobs; /* keys of jobs counted here or by a predecessor; NULL: not needed */
	/* Pids of the training processes in the last snapshot; NULL: not needed. */
	struct table *trains;
	FILE *plain; /* stream for plain lines; writes to plain_pipe */
	struct log_pipe plain_pipe;
	bool events; /* print events only */
	int report_fd;
	bool json, explain, color, replaying, left, by_events;
	int error;
};

/* Opens the exports that the options name. resume: continue after the output of a predecessor.
 * Returns 0, or -errno after logging the reason. */
int output_open_exports(struct output *out, const struct options *o, bool resume);

/* Functions of output_top.c. out->top must not be NULL, except for output_top_close(). */
void output_top_tick(struct output *out, const struct snapshot *s);
int output_top_key(struct output *out);
void output_top_resize(struct output *out);
void output_top_close(struct output *out);

#endif
