/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "loader/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/watch.h"

static int probes_find(const struct options *o, struct probe_table **ret)
{
	static const char *const places[] = {"/../share/gp-bpf/probes", "/../../probes"};
	char self[4096], path[4200];
	ssize_t n;

	if (o->probes)
		return probe_table_load(ret, o->probes);
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
	log_error("no probe files beside the program; name their folder with --probes DIR");
	return -ENOENT;
}

/* A name that somebody asked for is not bounded as others are. */
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
			log_warn("--range '%s': %s, so that a program which opens many ranges a second may "
				 "lose some of these (told as rate_limited)",
				 item, *name ? "one name too many" : "begins with any text");
	}
	return err == -ENOMEM ? err : 0;
}

int watch_probes(const struct options *o, struct probe_table **ret)
{
	struct probe_table *t;
	int err = probes_find(o, &t);

	if (err)
		return err;
	err = probes_keep(o, t);
	if (err)
		probe_table_free(t);
	else
		*ret = t;
	return err;
}
