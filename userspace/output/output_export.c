/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/output/output_private.h"
#include "userspace/view/view.h"

/* Cloud Monitoring is written to only where --export says so: whoever gives its options alone is
 * told. */
static int check_gcm(const struct options *o)
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
			log_warn("--%s: nothing is written to Cloud Monitoring without "
				 "--export cloud-monitoring",
				 all[i].name);
			break;
		}
	}
	return 0;
}

static bool gcm_several(const struct options *o)
{
	int n = 0;

	for (int i = 0; i < o->exports.count; i++)
		n += !strncmp(o->exports.item[i], "cloud-monitoring", 16);
	return n > 1;
}

int output_open_exports(struct output *out, const struct options *o, bool resume)
{
	struct export_options opt = {
		.listen = o->listen,
		.resume = resume,
		.web_config = o->web_config,
		.state_json = report_json,
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
		.several = gcm_several(o),
		.interval_ns = o->gcm_interval_ns,
		.rolling = o->rolling,
		.hooks = o->hooks.item,
		.nhooks = o->hooks.count,
		.hook_user = o->hook_user,
		.replay = o->replay,
	};
	bool prometheus = false;
	int err = export_clash(o->exports.item, o->exports.count); /* before a file is emptied */

	if (!err)
		err = export_set_new(&out->exports, &opt);
	for (int i = 0; !err && i < o->exports.count; i++) {
		prometheus |= !strncmp(o->exports.item[i], "prometheus", 10);
		err = export_set_add(out->exports, o->exports.item[i]);
	}
	if (!err && o->listen && !prometheus)
		err = export_set_add(out->exports, "prometheus");
	if (!err)
		err = export_set_add_hooks(out->exports);
	if (!err && o->web_config && !o->listen && !prometheus) {
		log_error(
			"--web-config %s: nothing is served without --listen or --export prometheus",
			o->web_config);
		err = -EINVAL;
	}
	return err ? err : check_gcm(o);
}

int output_serve(struct output *out, const char *path)
{
	return export_set_add_socket(out->exports, path);
}
