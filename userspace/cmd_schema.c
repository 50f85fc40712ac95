/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf schema: JSON Schema of the lines that --export json writes. */
#include <stdio.h>

#include "userspace/base/log.h"
#include "userspace/command.h"
#include "userspace/export/export.h"
#include "userspace/option.h"

int cmd_schema(int argc, char **argv)
{
	struct options o;
	int err;

	err = options_parse(&o, CMD_SCHEMA, argc, argv);
	if (err >= 0)
		return err;
	if (o.argc) {
		log_error("schema takes no argument");
		options_free(&o);
		return EXIT_USAGE;
	}
	options_free(&o);
	fputs(export_json_schema, stdout);
	return fflush(stdout) ? EXIT_RUNTIME : EXIT_OK;
}
