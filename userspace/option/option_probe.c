/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/model/step/step.h"
#include "userspace/option/option.h"
#include "userspace/option/option_probe.h"

/* Loads the installed probe files. *ret_only: set to true if there are none, and the files of
 * --probes were loaded instead. */
static int probes_find(const struct options *o, struct probe_table **ret, bool *ret_only)
{
	static const char *const places[] = {"/../share/gp-bpf/probes", "/../../probes"};
	char self[4096], path[4200];
	ssize_t n;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = 0;
		*strrchr(self, '/') = 0;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, sizeof(path), "%s%s", self, places[i]);
			if (!access(path, R_OK))
				return probe_table_load(ret, path);
		}
	}
	*ret_only = true;
	if (o->probes) /* without installed files, --probes must name all probe files */
		return probe_table_load(ret, o->probes);
	log_error("no installed probe files found; name their folder with --probes DIR");
	return -ENOENT;
}

/* Exempts the names in --range from the limit on the number of different range names. */
static int probes_keep(const struct options *o, struct probe_table *t)
{
	char name[OPTION_RANGE_MAX];
	int err = 0;

	for (int i = 0; i < o->ranges.count && err != -ENOMEM; i++) {
		const char *item = o->ranges.item[i];

		snprintf(name, sizeof(name), "%.*s", (int)(strrchr(item, '=') - item), item);
		name[strcspn(name, "*?")] = '\0';
		err = *name ? probe_table_keep(t, name) : -ENOSPC;
		if (err == -ENOSPC)
			log_warn(
				"--range '%s': not exempt from the rate limit, because %s; a program that opens many ranges a second may lose some (reported as rate_limited)",
				item,
				*name ? "too many names are exempt already"
				      : "it may begin with any text");
	}
	return err == -ENOMEM ? err : 0;
}

const struct probe_row *option_marker(const struct probe_table *t, const char *name)
{
	const struct probe_row *found = NULL;

	for (size_t i = 0; i < probe_table_count(t); i++) {
		const struct probe_row *r = probe_table_row(t, i);

		if (!strcmp(r->id, name))
			return r;
		if (!found && *r->symbol && !strcmp(r->symbol, name))
			found = r;
	}
	return found;
}

bool option_marks(const struct probe_row *r)
{
	return !r->count && r->role != GP_ROLE_table;
}

static int option_probe_marker_check(const struct probe_table *t, const char *name)
{
	const struct probe_row *r;

	for (int b = BOUNDARY_NONE + 1; b < BOUNDARY_MARKER_END; b++) {
		if (!strcmp(name, boundary_name[b]))
			return 0;
	}
	r = option_marker(t, name);
	if (r && option_marks(r))
		return 0;
	if (r)
		log_error("--marker: %s cannot be a marker: its hits are only counted", r->id);
	else
		log_error(
			"--marker: unknown marker or probe '%s'; for a list see --help and gp-bpf probes",
			name);
	return -EINVAL;
}

int option_probes(const struct options *o, struct probe_table **ret)
{
	struct probe_table *t;
	bool only = false;
	int err = probes_find(o, &t, &only);

	if (err)
		return o->probes && err != -ENOMEM ? -EINVAL : err;
	if (o->probes && !only && probe_table_add(t, o->probes))
		err = -EINVAL;
	err = err ? err : probes_keep(o, t);
	if (!err && o->marker)
		err = option_probe_marker_check(t, o->marker);
	if (err)
		probe_table_free(t);
	else
		*ret = t;
	return err;
}
