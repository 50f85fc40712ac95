/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_watch.h - what the commands that watch running processes share. */
#ifndef COMMAND_CMD_WATCH_H
#define COMMAND_CMD_WATCH_H

#include <stdbool.h>

#include "userspace/option/option.h"

struct watch_live {
	const char *command; /* what the user asked for, without secrets */
	const char *tape;    /* NULL: nothing is recorded */
	bool node;	     /* finds its processes itself, and ends when it is told to */
	const struct top_ui
		*top;  /* of a node: shown as gp-bpf top does, and to nobody else; NULL: not */
	bool terminal; /* ... until q; else one frame at the end */
	int argc;      /* of a node: as the command got them */
	char **argv;
};

/* Watches running processes until the end; the exit code. */
int watch_live(const struct options *o, const struct watch_live *l);
/* Reads the options, and goes on with them. */
int watch_parsed(unsigned bit, int argc, char **argv,
		 int (*go)(const struct options *o, const char *command, int argc, char **argv));

#endif
