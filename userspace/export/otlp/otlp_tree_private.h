/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tree_private.h - shared by otlp_tree.c (processes), otlp_between.c (checkpoints and named
 * ranges) and otlp_loop.c (loops and steps). */
#ifndef EXPORT_OTLP_TREE_PRIVATE_H
#define EXPORT_OTLP_TREE_PRIVATE_H

#include <stdbool.h>

#include "userspace/base/table.h"
#include "userspace/export/otlp/otlp_span.h"
#include "userspace/export/otlp/otlp_tree.h"

#define OTLP_RECENT 32 /* number of last steps whose median is the usual step time */
#define OTLP_DONE   64 /* number of last steps remembered: a checkpoint may end with one of them */
#define OTLP_NAMES  16

struct otlp_part { /* consecutive steps of a loop that share one training_metrics_update event */
	uint64_t first_step, last_step, count;
	uint64_t total_ns, least_ns, most_ns;
	uint64_t first_end_ns, last_end_ns;
	uint64_t forward_ns, backward_ns, data_ns;
	uint32_t known; /* phases (as bits) that are known in all steps of the part */
};

struct otlp_events { /* events of a span that has not ended */
	struct buffer text;
	uint32_t count;
	uint64_t dropped;
};

struct otlp_done { /* a step that has ended */
	uint64_t number, end_ns;
	uint64_t sum_ns; /* time of all steps of the loop up to and including this step */
};

struct otlp_loop {
	uint64_t first_ns, last_ns, first_step, last_step, steps;
	uint64_t sum_ns;		  /* time of all steps */
	struct otlp_done done[OTLP_DONE]; /* the last steps; a ring buffer, indexed by `steps` */
	bool whole;			  /* the loop's first step was observed */
	uint64_t left; /* number of steps without a span since the last step with a span */
	uint64_t recent_ns[OTLP_RECENT], nrecent, slow_ns;
	struct otlp_part part[OTLP_EVENTS];
	uint32_t nparts;
	uint64_t each; /* number of steps in each part */
	struct otlp_events saves;
};

struct otlp_held { /* a span that is kept until it is known whether its parent is the loop */
	char *text;
	size_t len, parent_at;
	const char *name;
	uint64_t from_ns, to_ns;
	bool range; /* from a named range of the job; false: from a checkpoint file */
};

struct otlp_evaluations { /* evaluations of one kind */
	/* step: number of the last step before the latest evaluation. base: number of the last step
	 * before the evaluation that precedes it; if there is none, the loop's first step minus
	 * 1. */
	uint64_t step, base;
	uint64_t until_ns;
};

struct otlp_process {
	struct otlp_owner owner;
	uint64_t start_ns, root, key;
	uint64_t from_ns, to_ns; /* first start and last end of all spans of the process */
	int world_size, status;
	bool dated, group_sent, loader_sent, alive;
	uint64_t ended_ns; /* end of the process; 0: still running */
	uint64_t attempts; /* checkpoints begun */
	uint64_t saves;	   /* checkpoints written */
	uint64_t first_save_ns, last_save_ns;
	/* syncs: number of checkpoints that blocked a step. sync_ns, sync_least_ns, sync_most_ns:
	 * sum, least and greatest of the times for which they blocked it. */
	uint64_t syncs, sync_ns, sync_least_ns, sync_most_ns;
	struct otlp_evaluations validation, testing;
	uint32_t range_left[OTLP_NAMES];
	struct otlp_loop *loop[STEP_LOOPS];
	struct otlp_held held[OTLP_HELD];
	uint32_t nheld;
	struct otlp_events events;
};

struct otlp_tree {
	struct otlp_queue *queue;
	struct table *processes;
	uint32_t sample, nended;
	const char *host;
	struct program_config config;
	struct otlp_tree_view view;
	struct buffer text; /* the span that is being written */
	bool repeated;	    /* the spans of the current fact were sent by a predecessor */
};

uint64_t otlp_id_of(const struct otlp_process *p, const char *name, uint64_t a, uint64_t b);
/* Puts a whole span in t->text into the queue. */
void otlp_put(struct otlp_tree *t, const struct otlp_process *p);
/* Puts a span without attributes or events: a phase of a step, an initialization. */
void otlp_plain(struct otlp_tree *t, struct otlp_process *p, const char *name, uint64_t parent,
		uint64_t from_ns, uint64_t to_ns);
/* Counts one more event of a span. Returns false, and counts the event as dropped, when there are
 * OTLP_EVENTS. */
bool otlp_event_room(struct otlp_events *e);

/* otlp_between.c */
void otlp_checkpoint(struct otlp_tree *t, struct otlp_process *p, const struct fact_checkpoint *c);
void otlp_range(struct otlp_tree *t, struct otlp_process *p, const struct fact_range *r);

/* otlp_loop.c */
uint64_t otlp_loop_id(const struct otlp_process *p, uint32_t loop);
void otlp_loop_step(struct otlp_tree *t, struct otlp_process *p, const struct fact_step *fs);
/* otlp_done_step() returns the step of the first loop with this number, otlp_done_by() the latest
 * step of that loop that had ended by ns. NULL: not among the last OTLP_DONE steps. */
const struct otlp_done *otlp_done_step(const struct otlp_process *p, uint64_t number);
const struct otlp_done *otlp_done_by(const struct otlp_process *p, uint64_t ns);
/* Sends the held spans, except those that end after the end of the loop's latest step. all: sends
 * these as well, because no later step will come. */
void otlp_held_settle(struct otlp_tree *t, struct otlp_process *p, bool all);
void otlp_loop_end(struct otlp_tree *t, struct otlp_process *p, uint32_t loop, bool unfinished);

#endif
