/* SPDX-License-Identifier: Apache-2.0 */
/* watch_private.h - what the parts of watch share: watch.c, watch_drain.c, watch_resume.c,
 * watch_wake.c...
 */
#ifndef GP_WATCH_PRIVATE_H
#define GP_WATCH_PRIVATE_H

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/loop.h"
#include "userspace/base/pace.h"
#include "userspace/ingest/ring.h"
#include "userspace/watch/carrier.h"
#include "userspace/output/journal.h"
#include "userspace/watch/watch.h"
#include "userspace/watch/watch_process.h"
#include "userspace/watch/watch_code.h"
#include "userspace/watch/watch_node.h"

/* Of the rings, in the order of loader_rings(). */
static const enum tape_source watch_source[] = {TAPE_RING_LIFE, TAPE_RING_CALL};

struct watch {
	const struct options *options;
	struct output *out;
	struct probe_table *probes;
	struct loader *loader;
	struct ring *ring[2];
	struct journal *journal;
	struct durable *durable; /* NULL: nothing outlives us */
	struct loop *loop;
	struct processes *processes;
	struct pods *pods;	 /* NULL: there are none */
	struct places *places;	 /* where they run */
	struct codes *codes;	 /* that they compile */
	struct node *node;	 /* NULL: the processes were named */
	struct carrier *carrier; /* NULL: history stays here */
	struct blocked *blocked; /* who does not get on */
	struct watch_log *log;	 /* what the kernel says of devices */
	struct leave *leave;	 /* NULL: nobody told us to hand over */
	struct buffer batch;	 /* of a ring */
	struct pace pace;	 /* of reading the rings */
	bool busy;		 /* there was process life to read, or much else */
	pid_t child;
	int child_status;
	enum gp_end_reason end;
	int end_signo;	   /* the signal that told us to end; 0: none did */
	uint64_t event_ns; /* stamp of the record that is reacted to; 0: none */
	uint64_t count_ns; /* stamp of counter records; 0: now */
	uint64_t away_ns;  /* since when nobody watched; 0: that is told */
	bool run, rescan;
	bool fresh;	/* nothing is gone on from */
	bool lifeless;	/* the kernel tells of no exit */
	bool life_lost; /* an exit may have gone unseen */
	int sweeps;	/* to come, for what the dead held */
};

/* Reads both rings empty: onto the tape, into the output, and to who reacts to process life. */
void watch_drain(struct watch *w);
/* Calls fn when a row that wakes us has told something (probes/README.md). */
int watch_wakes(struct watch *w, loop_fn *fn);
/* Records of what others tell, for loader_on_attach(), loader_sample() twice, processes_new(), and
 * the two of struct places_config; ctx is the watch. */
void watch_attached(void *ctx, uint32_t probe, const struct gp_attach *a);
void watch_count(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *counted);
void watch_lost(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total);
void watch_introduced(void *ctx, pid_t pid, const struct gp_process *p);
void watch_placed(void *ctx, pid_t pid, const struct gp_place *p);
void watch_noticed(void *ctx, const struct gp_notice *n);
/* A process ended, and the record of that was lost. */
void watch_gone(void *ctx, pid_t pid);
/* Nothing was observed since then. */
void watch_gap(struct watch *w, uint64_t from_ns);
/* Goes on where a predecessor stopped. saved: the output was made from its state. 0 or -errno. */
int watch_resume(struct watch *w, bool saved);

#endif
