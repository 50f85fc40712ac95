/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf probes: lists the known probes and their purpose. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/command/command.h"
#include "userspace/ingest/event.h"
#include "userspace/option/option.h"
#include "userspace/option/option_probe.h"
#include "userspace/watch/watch.h"

static void cmd_probes_print_row(const struct probe_row *r, bool color)
{
	const char *dim = color ? "\033[2m" : "", *bold = color ? "\033[1m" : "",
		   *off = color ? "\033[0m" : "";

	printf("%s%s%s  %s, %s, %s%s%s\n", bold, r->id, off, event_role_name(r->role),
	       event_group_name(r->group), r->count ? "counted" : "recorded",
	       r->returns ? " with its return" : "",
	       r->verified ? "" : ", not verified on the real library");
	if (r->follow)
		printf("  %sfollow%s  %s of %s.%s in", dim, off, r->follow_capture, r->runtime,
		       r->follow);
	else
		printf("  %ssymbol%s  %s%s in", dim, off, r->symbol, r->prefix ? "*" : "");
	for (const char *const *l = r->libraries; *l; l++)
		printf(" %s", *l);
	if (r->replaces)
		printf("\n  %sfrom%s    %s:%d, which replaces the installed row", dim, off, r->file,
		       r->line);
	printf("\n  %swhy%s     %s\n", dim, off, r->why);
}

int cmd_probes(int argc, char **argv)
{
	struct probe_table *t = NULL;
	struct options o;
	int code, err;

	code = options_parse(&o, CMD_PROBES, argc, argv);
	if (code >= 0)
		return code;
	if (o.argc) {
		log_error("probes: unexpected argument '%s'; for other probe files: --probes DIR",
			  o.argv[0]);
		code = EXIT_USAGE;
	} else {
		err = option_probes(&o, &t);
		code = err == -EINVAL ? EXIT_USAGE : err ? EXIT_RUNTIME : EXIT_OK;
	}
	for (size_t i = 0; t && i < probe_table_count(t); i++)
		cmd_probes_print_row(probe_table_row(t, i), tty_color(STDOUT_FILENO));
	probe_table_free(t);
	options_free(&o);
	return code;
}
