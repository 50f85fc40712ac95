/* SPDX-License-Identifier: Apache-2.0 */
/* output_private.h - what output.c, output_export.c and output_top.c share. */
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
	struct store_writer *store; /* NULL: none is kept */
	struct page *page;	    /* NULL: none is asked for */
	struct live *live;
	struct output_top *top; /* NULL: not asked for */
	struct node_view node;
	struct output_sum sum;
	struct output_seen seen;
	struct table
		*jobs; /* keys of those that count in seen, or did before us; NULL: nobody asks */
	struct table *trains; /* pid -> itself, as of the last snapshot; NULL: nobody asks */
	FILE *plain;	      /* writes to plain_pipe */
	struct log_pipe plain_pipe;
	bool events; /* alone go there */
	int report_fd;
	bool json, color, replaying, left, by_events;
	int error;
};

/* The ways out that the options ask for. resume: behind what a predecessor wrote. 0 or -errno after
 * one line. */
int output_open_exports(struct output *out, const struct options *o, bool resume);

/* output_top.c: of out->top, which is not NULL; closed it may be. */
void output_top_tick(struct output *out, const struct snapshot *s);
int output_top_key(struct output *out);
void output_top_resize(struct output *out);
void output_top_close(struct output *out);

#endif
