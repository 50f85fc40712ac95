/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a live run: reads records from the kernel's ring buffers, records them, and reacts to
 * starting and ending processes. Single-threaded.
 *
 * Each record goes to the tape (if there is one), then to the output. Records of starting and
 * ending processes are also handled here (scan for libraries, read the identity). */
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
	struct preload *preload; /* preloaded data for a takeover (borrowed), or NULL */
	bool saved;		 /* the output continues from the saved state in `durable` */
	/* Gp-bpf starts the process that it watches (`run`, `record`). */
	bool run;
	const char *command; /* the user's command line */
	/* Command `node`: finds its processes itself, and ends only on request. */
	bool node;
	int argc; /* arguments of the command `node` */
	char **argv;
};

/* Sets up a watch: prepares the kernel side, the rings and the journal, which passes records to out
 * (borrowed). If the state directory has the state of a predecessor, takes over from it. Returns 0
 * or -errno, after logging the reason except for -ENOMEM. -EPERM, -ENOSYS and -EOPNOTSUPP mean that
 * the kernel or a privilege is insufficient (exit code 3). */
int watch_open(struct watch **ret, const struct options *o, struct output *out,
	       const struct watch_config *cfg);
/* For a node: watches the processes that are already running; returns when their probes are
 * attached. */
void watch_node(struct watch *w);
/* Returns true while any process is watched. */
bool watch_busy(const struct watch *w);
/* Watches the processes of a predecessor's state that are still running. */
void watch_again(struct watch *w);
/* Call after the last watch_target(). Ends the gap in watching, and reports processes of a
 * predecessor's state as gone if they are not watched now. */
void watch_reconcile(struct watch *w);
struct watch_end {
	enum gp_end_reason reason;
	int signo; /* the signal that ended the run; 0: none */
};
void watch_ended(const struct watch *w, struct watch_end *ret);
/* Watches a process and its present and future children, and attaches probes to their libraries.
 * Returns 0, -ESRCH or another -errno. */
int watch_target(struct watch *w, pid_t pid);
/* Runs until all targets have ended, the user ends the run, or its time (--for) is over. child: pid
 * of CMD (0: none). It is reaped here, its wait status goes to *ret_status, and signals sent to
 * gp-bpf are passed on to it. */
int watch_run(struct watch *w, pid_t child, int *ret_status);
/* Detaches probes, empties the rings, writes the end record to the tape; the caller closes the
 * output. Returns 0, or -errno if the tape is incomplete. */
int watch_close(struct watch *w);

#endif
