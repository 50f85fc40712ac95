/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_watch.h - shared by the commands that watch running processes. */
#ifndef COMMAND_CMD_WATCH_H
#define COMMAND_CMD_WATCH_H

#include <stdbool.h>

#include "userspace/option/option.h"

struct watch_live {
	const char *command; /* the user's command line, without secrets */
	const char *tape;    /* file that the events are recorded to; NULL: no recording */
	bool node;	     /* finds processes itself, and ends only when asked to */
	/* for a node: draws the view of gp-bpf top here; NULL: serves it to gp-bpf top */
	const struct top_ui *top;
	/* with `top`: draw until q is pressed; otherwise print one frame at the end */
	bool terminal;
	int argc; /* for a node: the command's own arguments */
	char **argv;
};

/* Watches running processes until the end. Returns the exit code. */
int watch_live(const struct options *o, const struct watch_live *l);
/* Parses the options and calls go() with them. Returns the exit code. */
int watch_parsed(unsigned bit, int argc, char **argv,
		 int (*go)(const struct options *o, const char *command, int argc, char **argv));

#endif
