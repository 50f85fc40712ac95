/* SPDX-License-Identifier: Apache-2.0 */
/* watch_private.h - a watch, as watch.c and watch_node.c share it. */
#ifndef WATCH_WATCH_PRIVATE_H
#define WATCH_WATCH_PRIVATE_H

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
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

#endif
