/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf schema: prints the JSON Schema of the lines of --export json, or with --metrics the list
 * of metrics of --export prometheus. */
#include <stdio.h>

#include "userspace/base/log.h"
#include "userspace/command/command.h"
#include "userspace/export/export.h"
#include "userspace/export/prometheus/prometheus_text.h"
#include "userspace/option/option.h"

static bool cmd_schema_put_metrics(void)
{
	struct buffer b = {0};
	bool ok;

	prometheus_metrics(&b);
	ok = !b.failed && fputs(b.data, stdout) >= 0;
	buffer_free(&b);
	return ok;
}

int cmd_schema(int argc, char **argv)
{
	struct options o;
	bool ok, metrics;
	int err;

	err = options_parse(&o, CMD_SCHEMA, argc, argv);
	if (err >= 0)
		return err;
	if (o.argc) {
		log_error("schema: unexpected argument '%s'; for metrics: --metrics", o.argv[0]);
		options_free(&o);
		return EXIT_USAGE;
	}
	metrics = o.metrics;
	options_free(&o);
	ok = metrics ? cmd_schema_put_metrics() : fputs(export_json_schema, stdout) >= 0;
	return ok && !fflush(stdout) ? EXIT_OK : EXIT_RUNTIME;
}
