/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_watch.h - functions shared by the commands that watch running processes (gp-bpf --pid,
 * record, node, top). */
#ifndef COMMAND_CMD_WATCH_H
#define COMMAND_CMD_WATCH_H

#include <stdbool.h>

#include "userspace/option/option.h"

struct watch_live {
	const char *command; /* gp-bpf's command line without secrets, for reports */
	const char *tape;    /* file to which events are recorded; NULL: no recording */
	bool node;	     /* watch all jobs of the node, and end only on request */
	/* node: draw the view of gp-bpf top in this process; NULL: serve it to gp-bpf top */
	const struct top_ui *top;
	/* with `top`: draw until q is pressed; otherwise print one frame at the end */
	bool terminal;
	int argc; /* node: command line of this process, parsed again on a reload */
	char **argv;
};

/* Watches running processes until they end or a signal comes. Returns the exit code. */
int watch_live(const struct options *o, const struct watch_live *l);
/* Parses the options of the command `bit` and calls go() with them. Returns the exit code. */
int watch_parsed(unsigned bit, int argc, char **argv,
		 int (*go)(const struct options *o, const char *command, int argc, char **argv));

#endif
