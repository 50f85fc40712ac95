/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/buffer.h"
#include "userspace/base/log.h"
#include "userspace/export/exporter.h"

static const struct exporter *const exporters[] = {&export_json, &export_prometheus, NULL};

struct export_open {
	const struct exporter *exporter;
	void *state;
};

struct export_set {
	struct export_options options;
	struct export_open *open;
	size_t count;
};

int export_set_new(struct export_set **ret, const struct export_options *opt)
{
	struct export_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	if (opt)
		set->options = *opt;
	*ret = set;
	return 0;
}

static const struct exporter *export_find(const char *spec, size_t len)
{
	for (size_t i = 0; exporters[i]; i++)
		if (strlen(exporters[i]->name) == len && !memcmp(exporters[i]->name, spec, len))
			return exporters[i];
	return NULL;
}

static void export_unknown(const char *spec)
{
	struct buffer names = {0};

	for (size_t i = 0; exporters[i]; i++)
		buffer_printf(&names, "%s%s (%s)", i ? ", " : "", exporters[i]->name, exporters[i]->help);
	log_error("--export %s: no such exporter; there are: %s", spec, names.data ? names.data : "");
	buffer_free(&names);
}

int export_set_add(struct export_set *set, const char *spec)
{
	size_t len = strcspn(spec, ":");
	const struct exporter *e = export_find(spec, len);
	struct export_open *open;
	int err;

	if (!e) {
		export_unknown(spec);
		return -EINVAL;
	}
	open = realloc(set->open, (set->count + 1) * sizeof(*open));
	if (!open)
		return -ENOMEM;
	set->open = open;
	open += set->count;
	open->exporter = e;
	open->state = NULL;
	err = e->open(&open->state, spec[len] ? spec + len + 1 : NULL, &set->options);
	if (!err)
		set->count++;
	return err;
}

void export_set_fact(struct export_set *set, const struct fact *f)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->fact)
			set->open[i].exporter->fact(set->open[i].state, f);
}

bool export_set_takes_snapshots(const struct export_set *set)
{
	bool takes = false;

	for (size_t i = 0; i < set->count; i++)
		takes |= set->open[i].exporter->snapshot != NULL;
	return takes;
}

void export_set_snapshot(struct export_set *set, struct snapshot *s)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->open[i].exporter->snapshot)
			set->open[i].exporter->snapshot(set->open[i].state, s);
}

uint64_t export_set_told(const struct export_set *set)
{
	uint64_t last = 0, told;

	for (size_t i = 0; i < set->count; i++) {
		told = set->open[i].exporter->told ? set->open[i].exporter->told(set->open[i].state) : 0;
		last = told > last ? told : last;
	}
	return last;
}

int export_set_close(struct export_set *set)
{
	int err = 0, lost;

	if (!set)
		return 0;
	for (size_t i = 0; i < set->count; i++) {
		lost = set->open[i].exporter->close(set->open[i].state);
		err = err ? err : lost;
	}
	free(set->open);
	free(set);
	return err;
}
