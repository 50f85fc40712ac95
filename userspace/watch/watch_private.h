/* SPDX-License-Identifier: Apache-2.0 */
/* watch_private.h - struct watch, the state of a live run, for the files of this folder. */
#ifndef WATCH_WATCH_PRIVATE_H
#define WATCH_WATCH_PRIVATE_H

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/buffer.h"
#include "userspace/base/loop.h"
#include "userspace/base/poll_interval.h"
#include "userspace/ingest/ring.h"
#include "userspace/handover/handoff.h"
#include "userspace/handover/successor.h"
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
	struct durable *durable; /* state directory; NULL: none is used */
	struct loop *loop;
	struct processes *processes;
	struct pods *pods;	   /* pods of the node; NULL: no Kubernetes */
	struct places *places;	   /* locations of processes */
	struct codes *codes;	   /* names of programs that processes compile */
	struct node *node;	   /* for `node`; NULL: the user named the processes */
	struct handoff *handoff;   /* shares job histories; NULL: no --carry */
	struct blocked *blocked;   /* checks for blocked calls */
	struct ras *ras;	   /* reports of NCCL's RAS service about silent processes */
	struct stacks *stacks;	   /* Python stacks of silent processes */
	struct usages *usages;	   /* samples of threads and control groups */
	struct inputs *inputs;	   /* samples of workers of data loaders */
	struct examines *examines; /* examinations of what training threads wait for */
	struct devices *devices;   /* figures of the processes' accelerators */
	struct traffics *traffics; /* bytes read, and failures of networks */
	struct watch_log *log;	   /* device faults in the kernel's log */
	/* Asks whether another gp-bpf will follow; NULL: no handover was requested. */
	struct successor *successor;
	struct buffer batch;		    /* records read from a ring */
	struct poll_interval poll_interval; /* interval for reading the rings */
	/* The last reading of the rings returned starts or ends of processes, or many other
	 * records: read again soon. */
	bool busy;
	pid_t child;
	int child_status;
	enum gp_end_reason end;
	int end_signo;	       /* the signal that ends the run; 0: none */
	uint64_t event_ns;     /* time of the record being handled; 0: none */
	uint64_t count_ns;     /* timestamp for records of counters; 0: use the present time */
	uint64_t unwatched_ns; /* begin of a gap in watching that has to be recorded; 0: none */
	bool run, rescan;
	bool fresh;	/* no predecessor's state is used */
	bool lifeless;	/* the kernel side cannot report exits */
	bool life_lost; /* records of ended processes may have been lost */
	int sweeps;	/* remaining scans for kernel-side data of dead processes */
};

#endif
