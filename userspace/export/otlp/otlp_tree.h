/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_tree.h - turns facts into the spans of nv-one-logger-training-telemetry, and queues spans
 * that have ended as JSON.
 *
 *   application: one for each rank, from its start to its end; root of its spans
 *     distributed_code_initialization: the first process group or communicator
 *     data_loader_initialization: the first wait for a batch
 *     checkpoint_load
 *     training_loop: one for each loop, from its first step to its last
 *       training_single_iteration: sampled steps, the first step, and each step that is flagged
 *          or took 1.5 times the median of the steps before it
 *         data_loading, model_forward, zero_grad, model_backward, optimizer_update
 *       validation_loop, checkpoint_save_sync, checkpoint_save_finalization
 *
 * Ranges of the job with any of the library's other names become spans, too. A trace is one run of
 * a job. Its identifier and those of spans are hashes of their identity, so a successor of gp-bpf
 * continues the same trace. OTLP cannot send a span before it ends: a parent is sent after its
 * children, and spans still open at the end of the watch are sent then, with gpbpf.unfinished. Not
 * thread-safe (the queue is). Bounded: OTLP_PROCESSES at a time, OTLP_HELD spans of each whose
 * parent is not known yet, OTLP_EVENTS events of each loop and rank. */
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
	/* spans dropped: there were more than OTLP_PROCESSES processes, the wall time was unknown,
	 * or there was no memory */
	uint64_t unplaced;
	uint64_t steps; /* steps that were not sampled */
};

/* sample: one in this number of steps becomes a span; host: name of this machine. q and host belong
 * to the caller. Returns NULL when there is no memory. */
struct otlp_tree *otlp_tree_new(struct otlp_queue *q, uint32_t sample, const char *host);
void otlp_tree_free(struct otlp_tree *t);
/* Sets the user's description of the job, for spans that end from now on. */
void otlp_tree_config(struct otlp_tree *t, const struct program_config *c);
void otlp_tree_fact(struct otlp_tree *t, const struct fact *f);
/* Sends the root spans of processes that ended before now_ns. Call when all facts until now_ns have
 * been passed to otlp_tree_fact(). */
void otlp_tree_tick(struct otlp_tree *t, uint64_t now_ns);
void otlp_tree_view(const struct otlp_tree *t, struct otlp_tree_view *ret);

#endif
