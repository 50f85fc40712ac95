/* SPDX-License-Identifier: Apache-2.0 */
/* output_export.c - checks and opens the exports that the options name. */
#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/output/output_private.h"
#include "userspace/report/report.h"

/* The first given option that has no effect, and the exporter that would use this option */
struct idle {
	const struct options *o;
	const char *option;
	const struct exporter *missing;
};

static void output_export_on_given(void *ctx, const char *name)
{
	struct idle *idle = ctx;

	if (idle->missing)
		return;
	idle->option = name;
	idle->missing = export_missing(name, idle->o->exports.item, idle->o->exports.count);
}

/* Logs a warning if an option has no effect because its exporter was not chosen with --export.
 * Returns 0, or -EINVAL for --dry-run without an exporter that prints. */
static int output_export_check_idle(const struct options *o)
{
	const struct options none = {0};
	struct idle idle = {.o = o};

	idle.missing = o->dry_run ? export_missing("dry-run", o->exports.item, o->exports.count)
				  : NULL;
	if (idle.missing) {
		log_error("--dry-run: nothing to print; add --export %s", idle.missing->name);
		return -EINVAL;
	}
	options_compare(&none, o, CMD_GCM, output_export_on_given, &idle);
	if (idle.missing)
		log_warn("--%s: has no effect without --export %s", idle.option,
			 idle.missing->name);
	return 0;
}

static bool output_export_serves(const struct options *o)
{
	return export_uses(o->exports.item, o->exports.count, o->dry_run).serves;
}

struct export_options output_export_options(const struct options *o, bool resume)
{
	return (struct export_options){
		.listen = o->listen,
		.resume = resume,
		.web_config = o->web_config,
		.state_json = report_json,
		.state_masked = report_json_masked,
		.state_dir = o->state_dir,
		.project = o->gcm_project,
		.location = o->gcm_location,
		.cluster = o->gcm_cluster,
		.accelerator = o->gcm_accelerator,
		.replica = o->gcm_replica,
		.prefix = o->gcm_prefix,
		.endpoint = o->gcm_endpoint,
		.workload_metrics = o->gcm_workload_metrics,
		.dry_run = o->dry_run,
		.specs = o->exports.item,
		.nspecs = o->exports.count,
		.interval_ns = o->gcm_interval_ns,
		.rolling = o->rolling,
		.hooks = o->hooks.item,
		.nhooks = o->hooks.count,
		.hook_user = o->hook_user,
		.replay = o->replay,
		.service = o->service,
	};
}

int output_check(const struct options *o)
{
	struct export_options opt = output_export_options(o, false);
	int err = 0;

	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_check(o->exports.item[i], &opt);
	if (!err && o->web_config && !o->listen && !output_export_serves(o)) {
		log_error("--web-config %s: has no effect without --listen or --export %s",
			  o->web_config, export_server()->name);
		err = -EINVAL;
	}
	return err;
}

int output_open_exports(struct output *out, const struct options *o, bool resume)
{
	struct export_options opt = output_export_options(o, resume);
	int err = output_check(o);

	/* Opening an export empties its files, so check the arguments first. */
	if (!err)
		err = export_clash(o->exports.item, o->exports.count);
	if (!err)
		err = export_set_new(&out->exports, &opt);
	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_set_add(out->exports, o->exports.item[i]);
	if (!err && o->listen && !output_export_serves(o))
		err = export_set_add(out->exports, export_server()->name);
	if (!err)
		err = export_set_add_hooks(out->exports);
	return err ? err : output_export_check_idle(o);
}

int output_serve(struct output *out, const char *path)
{
	return export_set_add_socket(out->exports, path);
}
