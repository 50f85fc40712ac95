/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tree.h - facts as spans of nv-one-logger-training-telemetry: what ends goes to the queue as
 * JSON.
 *
 *   application                        a rank, from its start to its end; the root of its spans
 *     distributed_code_initialization  the process group or communicator that was made first
 *     data_loader_initialization       the first wait for a batch
 *     checkpoint_load
 *     training_loop                    of each loop, from its first step to its last
 *       training_single_iteration      one of so many steps, the first, and every one that stands
 *                                      out: flagged, or 1.5 times as long as the median of those
 *                                      before it
 *         data_loading, model_forward, zero_grad, model_backward, optimizer_update
 *       validation_loop, checkpoint_save_sync, checkpoint_save_finalization
 *
 * and any other of its names that a range of the job's own has. A trace is one run of a job; its
 * identifier, and those of spans, are hashes of what they are of, so that whoever goes on with a
 * watch goes on with the trace. OTLP knows no span that goes on: a parent is sent when it ends,
 * after its children; what goes on at the end of the watch is sent then, with gpbpf.unfinished.
 *
 * Single-threaded (the queue is not). Bounded: OTLP_PROCESSES at a time, OTLP_HELD spans of each
 * whose parent is not known yet, OTLP_EVENTS events of each loop and rank. */
#ifndef EXPORT_OTLP_TREE_H
#define EXPORT_OTLP_TREE_H

#include <stdint.h>

#include "userspace/export/otlp/otlp_queue.h"
#include "userspace/model/job/fact.h"
#include "userspace/model/time/program.h"

#define OTLP_PROCESSES 4096
#define OTLP_HELD      16
#define OTLP_EVENTS    64

struct otlp_tree;
struct otlp_tree_view {
	uint64_t unplaced; /* spans of processes beyond the bound, or of an instant whose wall time
			    * is unknown */
	uint64_t steps;	   /* that were not sampled */
};

/* sample: of so many steps one is told; host: of this machine. NULL: no memory. q and host are the
 * caller's. */
struct otlp_tree *otlp_tree_new(struct otlp_queue *q, uint32_t sample, const char *host);
void otlp_tree_free(struct otlp_tree *t);
/* What the user says of the job: for spans that end from now on. */
void otlp_tree_config(struct otlp_tree *t, const struct program_config *c);
void otlp_tree_fact(struct otlp_tree *t, const struct fact *f);
/* Nothing more happened until now_ns: who ended before has ended for good. */
void otlp_tree_tick(struct otlp_tree *t, uint64_t now_ns);
void otlp_tree_view(const struct otlp_tree *t, struct otlp_tree_view *ret);

#endif
