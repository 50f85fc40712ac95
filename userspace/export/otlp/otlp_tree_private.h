/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tree_private.h - what otlp_tree.c (processes), otlp_between.c (what is no step) and
 * otlp_loop.c (steps) share. */
#ifndef EXPORT_OTLP_TREE_PRIVATE_H
#define EXPORT_OTLP_TREE_PRIVATE_H

#include <stdbool.h>

#include "userspace/base/table.h"
#include "userspace/export/otlp/otlp_span.h"
#include "userspace/export/otlp/otlp_tree.h"

#define OTLP_RECENT 32 /* steps whose median is what is usual */
#define OTLP_DONE   64 /* last steps of a loop that a save may be of */
#define OTLP_NAMES  16

struct otlp_part { /* of a loop: so many steps, one training_metrics_update */
	uint64_t first_step, last_step, count;
	uint64_t total_ns, least_ns, most_ns;
	uint64_t first_end_ns, last_end_ns;
	uint64_t forward_ns, backward_ns, data_ns;
	uint32_t known; /* bit per phase, in all of its steps */
};

struct otlp_events { /* of a span that has not ended */
	struct buffer text;
	uint32_t count;
	uint64_t dropped;
};

struct otlp_done {
	uint64_t number, end_ns;
	uint64_t sum_ns; /* of it and all steps before it, of this process */
};

struct otlp_loop {
	uint64_t first_ns, last_ns, first_step, last_step, steps;
	uint64_t sum_ns;		  /* of all its steps */
	struct otlp_done done[OTLP_DONE]; /* by the count of steps, modulo */
	bool whole;			  /* its first step was seen */
	uint64_t left;			  /* steps since the last that was told */
	uint64_t recent_ns[OTLP_RECENT], nrecent, slow_ns;
	struct otlp_part part[OTLP_EVENTS];
	uint32_t nparts;
	uint64_t each; /* steps of a part */
	struct otlp_events saves;
};

struct otlp_held { /* a span whose parent may be the loop */
	char *text;
	size_t len, parent_at;
	const char *name;
	uint64_t from_ns, to_ns;
	bool range; /* the user's word */
};

struct otlp_evaluations { /* evaluations, of one kind */
	uint64_t step,
		base; /* the last was after this step, the one before it after that; 0: none was */
	uint64_t until_ns;
};

struct otlp_process {
	struct otlp_who who;
	uint64_t start_ns, root, key;
	uint64_t from_ns, to_ns; /* of all its spans */
	int world_size, status;
	bool dated, group_sent, loader_sent, alive;
	uint64_t ended_ns; /* 0: it has not */
	uint64_t attempts; /* checkpoints that were begun */
	uint64_t saves;	   /* ... and written */
	uint64_t first_save_ns, last_save_ns;
	uint64_t syncs, sync_ns, sync_least_ns,
		sync_most_ns; /* those that a step waited for, and their time */
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
	struct buffer text; /* in the making */
	bool repeated;	    /* the fact in hand: a predecessor has sent what comes of it */
};

uint64_t otlp_id_of(const struct otlp_process *p, const char *name, uint64_t a, uint64_t b);
/* text, a whole span, goes to the queue. */
void otlp_put(struct otlp_tree *t, const struct otlp_process *p);
/* A span without more: of a step's phase, of a beginning. */
void otlp_plain(struct otlp_tree *t, struct otlp_process *p, const char *name, uint64_t parent,
		uint64_t from_ns, uint64_t to_ns);
/* false: there is no room for it, which is counted. */
bool otlp_event_room(struct otlp_events *e);

/* otlp_between.c */
void otlp_checkpoint(struct otlp_tree *t, struct otlp_process *p, const struct fact_checkpoint *c);
void otlp_range(struct otlp_tree *t, struct otlp_process *p, const struct fact_range *r);

/* otlp_loop.c */
uint64_t otlp_loop_id(const struct otlp_process *p, uint32_t loop);
void otlp_loop_step(struct otlp_tree *t, struct otlp_process *p, const struct fact_step *fs);
/* The first loop's step of that number, and its last step that had ended by ns. NULL: it is not
 * known (any more). */
const struct otlp_done *otlp_done_step(const struct otlp_process *p, uint64_t number);
const struct otlp_done *otlp_done_by(const struct otlp_process *p, uint64_t ns);
/* Those of its spans that lie in its first loop, so far; all: there is nothing to come. */
void otlp_held_settle(struct otlp_tree *t, struct otlp_process *p, bool all);
void otlp_loop_end(struct otlp_tree *t, struct otlp_process *p, uint32_t loop, bool unfinished);

#endif
