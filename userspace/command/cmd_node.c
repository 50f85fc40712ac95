/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf node: runs the service that watches all jobs of a node. */
#include <stdlib.h>

#include "userspace/base/log.h"
#include "userspace/command/cmd_watch.h"
#include "userspace/command/command.h"

static int node_checked(const struct options *o, const char *command, int argc, char **argv)
{
	if (o->argc) {
		log_error("node: unexpected argument '%s'; to choose jobs: --allow, --deny",
			  o->argv[0]);
		return EXIT_USAGE;
	}
	if ((o->handover || o->takeover) && !o->durable) {
		log_error(
			"%s needs --durable, which is turned off by GP_BPF_DURABLE or by durable: false in the configuration file",
			o->handover ? "--handover" : "--takeover");
		return EXIT_USAGE;
	}
	return watch_live(o, &(struct watch_live){
				     .command = command, .node = true, .argc = argc, .argv = argv});
}

int cmd_node(int argc, char **argv)
{
	return watch_parsed(CMD_NODE, argc, argv, node_checked);
}
