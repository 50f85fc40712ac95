/* SPDX-License-Identifier: Apache-2.0 */
/* output_export.c - the exports that options ask for are checked and opened. */
#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/output/output_private.h"
#include "userspace/report/report.h"

/* Cloud Monitoring is written to only where --export says so: whoever gives its options alone is
 * told. */
static int output_export_check_gcm(const struct options *o)
{
	const struct {
		const char *name;
		bool given;
	} all[] = {
		{"gcm-project", o->gcm_project},
		{"gcm-location", o->gcm_location},
		{"gcm-cluster", o->gcm_cluster},
		{"gcm-accelerator", o->gcm_accelerator},
		{"gcm-replica", o->gcm_replica},
		{"gcm-workload-metrics", o->gcm_workload_metrics},
		{"gcm-prefix", o->gcm_prefix},
		{"gcm-interval", o->gcm_interval_ns},
		{"gcm-endpoint", o->gcm_endpoint},
		{"rolling", o->rolling},
	};

	for (int i = 0; i < o->exports.count; i++) {
		if (!strncmp(o->exports.item[i], "cloud-monitoring", 16))
			return 0;
	}
	if (o->dry_run) {
		log_error("--dry-run: there is nothing to print without --export cloud-monitoring");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].given) {
			log_warn(
				"--%s: nothing is written to Cloud Monitoring without --export cloud-monitoring",
				all[i].name);
			break;
		}
	}
	return 0;
}

static bool output_export_gcm_several(const struct options *o)
{
	int n = 0;

	for (int i = 0; i < o->exports.count; i++)
		n += !strncmp(o->exports.item[i], "cloud-monitoring", 16);
	return n > 1;
}

static bool exports_serve(const struct options *o)
{
	for (int i = 0; i < o->exports.count; i++)
		if (!strncmp(o->exports.item[i], "prometheus", 10))
			return true;
	return false;
}

static struct export_options export_options_of(const struct options *o, bool resume)
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
		.several = output_export_gcm_several(o),
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
	struct export_options opt = export_options_of(o, false);
	int err = 0;

	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_check(o->exports.item[i], &opt);
	if (!err && o->web_config && !o->listen && !exports_serve(o)) {
		log_error(
			"--web-config %s: nothing is served without --listen or --export prometheus",
			o->web_config);
		err = -EINVAL;
	}
	return err;
}

int output_open_exports(struct output *out, const struct options *o, bool resume)
{
	struct export_options opt = export_options_of(o, resume);
	int err = output_check(o);

	if (!err)
		err = export_clash(o->exports.item,
				   o->exports.count); /* before a file is emptied */
	if (!err)
		err = export_set_new(&out->exports, &opt);
	for (int i = 0; !err && i < o->exports.count; i++)
		err = export_set_add(out->exports, o->exports.item[i]);
	if (!err && o->listen && !exports_serve(o))
		err = export_set_add(out->exports, "prometheus");
	if (!err)
		err = export_set_add_hooks(out->exports);
	return err ? err : output_export_check_gcm(o);
}

int output_serve(struct output *out, const char *path)
{
	return export_set_add_socket(out->exports, path);
}
