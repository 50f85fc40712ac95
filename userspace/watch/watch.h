/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a live run: kernel side, rings, tape and what reacts to processes as they come and go.
 * Single-threaded.
 *
 * What the collector sees goes three ways in one order: onto the tape (when there is one), into the
 * output, and, for process life, to the reactions here (look for libraries, read identity). */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

struct watch;
struct probe_table;

struct watch_config {
	const char *tape;	 /* file to record to, or NULL */
	struct durable *durable; /* state directory, borrowed, or NULL */
	struct preload *preload; /* of one that takes over, borrowed, or NULL */
	bool saved;		 /* out goes on from the state of that directory */
	bool run;		 /* the targets are started by us */
	const char *command;	 /* what the user asked for */
	bool node;		 /* finds its processes itself, and ends only when it is told to */
	int argc;		 /* of a node: as the command got them */
	char **argv;
};

/* Opens the kernel side and everything between it and out (borrowed); what a predecessor left in
 * the state directory is taken over. 0; -errno after one line: -EPERM, -ENOSYS, -EOPNOTSUPP mean
 * that the kernel or a privilege lacks what is needed (exit 3). */
int watch_open(struct watch **ret, const struct options *o, struct output *out,
	       const struct watch_config *cfg);
/* A node: watches those that run already; comes back when their probes are attached. */
void watch_node(struct watch *w);
/* Somebody is watched already. */
bool watch_busy(const struct watch *w);
/* Watches those again that a predecessor's state knows and that still run. */
void watch_again(struct watch *w);
/* Every target was named: what nobody watched ends here, and processes that a predecessor's state
 * knows and nobody watches are gone. */
void watch_reconcile(struct watch *w);
/* Why it ended, after watch_run(). */
struct watch_end {
	enum gp_end_reason reason;
	int signo; /* that told us to; 0: none did */
};
void watch_ended(const struct watch *w, struct watch_end *ret);
/* Watches a process and its present and future children, attaches to the libraries they map.
 * -ESRCH. */
int watch_target(struct watch *w, pid_t pid);
/* Until every target is gone, the user ends it, or the time is up. child: reaped here, its wait
 * status goes to *ret_status (0: none; signals sent to us are passed on to it). */
int watch_run(struct watch *w, pid_t child, int *ret_status);
/* Detaches, drains, writes the end onto the tape; the output stays the caller's to close. -errno
 * when the tape could not be written whole. */
int watch_close(struct watch *w);

#endif
