/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a live run: kernel side, rings, tape, and reactions to starting and ending processes.
 * Single-threaded.
 *
 * Records are passed on in one order: to the tape (if there is one), to the output, and, for
 * process life, to the reactions here (scan for libraries, read the identity). */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"
#include "userspace/option/option.h"
#include "userspace/output/output.h"

struct watch;
struct probe_table;

/* Settings of a watch */
struct watch_config {
	const char *tape;	 /* file to record to, or NULL */
	struct durable *durable; /* state directory, borrowed, or NULL */
	struct preload *preload; /* preloaded data for a takeover, borrowed, or NULL */
	bool saved;		 /* the output continues from the saved state in `durable` */
	bool run;		 /* gp-bpf starts the targets (`run`, `record`) */
	const char *command;	 /* the user's command line */
	bool node;		 /* `node`: finds its processes itself, and ends only on request */
	int argc;		 /* for a node: the command's own arguments */
	char **argv;
};

/* Opens the kernel side and all between it and out (borrowed); takes over what a predecessor left
 * in the state directory. Returns 0; -errno after one line: -EPERM, -ENOSYS, -EOPNOTSUPP mean that
 * the kernel or a privilege is insufficient (exit 3). */
int watch_open(struct watch **ret, const struct options *o, struct output *out,
	       const struct watch_config *cfg);
/* For a node: watches the processes that are running; returns when their probes are attached. */
void watch_node(struct watch *w);
/* Returns true while any process is watched. */
bool watch_busy(const struct watch *w);
/* Watches those processes of a predecessor's state that are still running. */
void watch_again(struct watch *w);
/* Call after the last watch_target(): ends the gap in watching, and reports processes of a
 * predecessor's state that are not watched as gone. */
void watch_reconcile(struct watch *w);
/* The reason why watch_run() returned. */
struct watch_end {
	enum gp_end_reason reason;
	int signo; /* the signal that ended it; 0: none */
};
void watch_ended(const struct watch *w, struct watch_end *ret);
/* Watches a process and its present and future children, and attaches probes to their libraries.
 * Returns 0, -ESRCH or another -errno. */
int watch_target(struct watch *w, pid_t pid);
/* Runs until all targets are gone, the user ends it, or the time is up. child: reaped here; its
 * wait status goes to *ret_status (0: no child); signals sent to us are passed on to it. */
int watch_run(struct watch *w, pid_t child, int *ret_status);
/* Detaches probes, empties the rings, writes the end to the tape; the caller closes the output.
 * Returns -errno if the tape is incomplete. */
int watch_close(struct watch *w);

#endif
