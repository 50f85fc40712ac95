/* SPDX-License-Identifier: Apache-2.0 */
/* watch_private.h - what watch.c and watch_resume.c share. */
#ifndef GP_WATCH_PRIVATE_H
#define GP_WATCH_PRIVATE_H

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/loop.h"
#include "userspace/base/pace.h"
#include "userspace/ingest/ring.h"
#include "userspace/carrier.h"
#include "userspace/journal.h"
#include "userspace/watch.h"
#include "userspace/watch_process.h"

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
	struct carrier *carrier; /* NULL: history stays here */
	struct blocked *blocked; /* who does not get on */
	struct buffer batch;	 /* of a ring */
	struct pace pace;	 /* of reading the rings */
	bool busy;		 /* there was process life to read, or much else */
	pid_t child;
	int child_status;
	enum gp_end_reason end;
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
/* A process ended, and the record of that was lost. */
void watch_gone(void *ctx, pid_t pid);
/* Nothing was observed since then. */
void watch_gap(struct watch *w, uint64_t from_ns);
/* Goes on where a predecessor stopped. saved: the output was made from its state. 0 or -errno. */
int watch_resume(struct watch *w, bool saved);

#endif
