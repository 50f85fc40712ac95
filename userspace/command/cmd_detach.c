/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf detach: removes the probes that gp-bpf --durable left in the kernel when it ended. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader/loader.h"
#include "userspace/base/log.h"
#include "userspace/command/command.h"
#include "userspace/ingest/durable.h"
#include "userspace/option/option.h"

static bool cmd_detach_may_go(void *ctx, const char *folder, const char *state_dir, uint32_t user)
{
	pid_t locked = *state_dir ? durable_owner(state_dir) : 0,
	      owner = locked ? locked : (pid_t)user;
	int *busy = ctx;
	char dir[512];

	log_escape(dir, sizeof(dir), state_dir, strlen(state_dir));
	if (!owner) {
		printf("%s (state in %s): detached\n", folder, *dir ? dir : "an unknown folder");
		return true;
	}
	log_error(
		"%s: not removed: process %d watches with it (state in %s); stop that process first: kill %d",
		folder, owner, dir, owner);
	++*busy;
	return false;
}

int cmd_detach(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, CMD_DETACH, argc, argv), busy = 0, n;

	if (code >= 0)
		return code;
	if (o.argc) {
		log_error("detach: unexpected argument '%s'; detach takes none", o.argv[0]);
		options_free(&o);
		return EXIT_USAGE;
	}
	options_free(&o);
	n = loader_detach(cmd_detach_may_go, &busy);
	if (n == -EPERM || n == -EACCES) {
		log_error("detach: /sys/fs/bpf: %s; run as root (sudo gp-bpf detach)",
			  strerror(-n));
		return EXIT_LACKING;
	}
	if (n < 0) {
		log_error("detach: /sys/fs/bpf: %s", strerror(-n));
		return EXIT_RUNTIME;
	}
	if (!n && !busy)
		puts("nothing to detach");
	return busy ? EXIT_RUNTIME : EXIT_OK;
}
