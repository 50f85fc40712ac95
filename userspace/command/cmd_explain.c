/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf explain: prints what limits a job, after watching its processes for a short time, or from
 * a store. */
#include "userspace/base/log.h"
#include "userspace/command/cmd_report.h"
#include "userspace/command/cmd_watch.h"
#include "userspace/command/command.h"

#define LOOK_NS 20000000000ll /* how long processes are watched if --for is not given */

static int cmd_explain_checked(const struct options *o, const char *command, int argc, char **argv)
{
	struct options own = *o;

	(void)argc;
	(void)argv;
	own.explain = true;
	if (!own.pids.count)
		return cmd_report_run(&own);
	if (own.argc) {
		log_error("explain: name a process or a job of the store, not both");
		return EXIT_USAGE;
	}
	if (!own.for_ns)
		own.for_ns = LOOK_NS;
	return watch_live(&own, &(struct watch_live){.command = command});
}

int cmd_explain(int argc, char **argv)
{
	return watch_parsed(CMD_EXPLAIN, argc, argv, cmd_explain_checked);
}
