/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the resources that an export uses, from its exporter and argument, and finds exports that
 * would write to the same file. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/export/export.h"

/* Resolves links in a path whose last component need not exist. */
static void export_use_real_path(const char *path, char out[PATH_MAX])
{
	char folder[PATH_MAX];
	const char *name = strrchr(path, '/');
	size_t len = name ? (size_t)(name + 1 - path) : 0;

	if (!strcmp(path, "-") || realpath(path, out))
		return;
	name = path + len;
	snprintf(folder, sizeof(folder), "%.*s", (int)len, path);
	if (!realpath(len ? folder : ".", out))
		snprintf(out, PATH_MAX, "%s", path);
	else if (strlen(out) + strlen(name) + 2 <= PATH_MAX)
		snprintf(out + strlen(out), PATH_MAX - strlen(out), "/%s", name);
}

/* Returns the exporter that spec names; NULL: there is none. path: gets the argument without
 * settings; "" if the argument is not a path. */
static const struct exporter *export_use_path(const char *spec, char path[PATH_MAX])
{
	size_t len = strcspn(spec, ":");
	const struct exporter *e = export_find(spec, len);
	char *setting;

	*path = '\0';
	if (!e || e->place == EXPORT_ELSEWHERE)
		return e;
	snprintf(path, PATH_MAX, "%s", spec[len] && spec[len + 1] ? spec + len + 1 : "-");
	for (int k = 0; k < 2; k++)
		if (e->setting[k] && (setting = strstr(path, e->setting[k])))
			*setting = '\0';
	return e;
}

struct export_use export_use(const char *spec, bool dry_run)
{
	char path[PATH_MAX];
	const struct exporter *e = export_use_path(spec, path);
	bool output = e && e->place == EXPORT_TO_FILE && !strcmp(path, "-");

	if (!e)
		return (struct export_use){0};
	return (struct export_use){
		.prints = output || (dry_run && e->prints),
		.files = *path && !output,
		.serves = e->serves,
		.capabilities = e->capabilities,
	};
}

struct export_use export_uses(char *const *specs, int count, bool dry_run)
{
	struct export_use all = {0}, one;

	for (int i = 0; i < count; i++) {
		one = export_use(specs[i], dry_run);
		all.prints |= one.prints;
		all.files |= one.files;
		all.serves |= one.serves;
		all.capabilities |= one.capabilities;
	}
	return all;
}

const struct exporter *export_missing(const char *option, char *const *specs, int count)
{
	const struct exporter *e;

	for (size_t i = 0; (e = export_at(i)); i++)
		for (const char *const *name = e->of_options; name && *name; name++)
			if (!strcmp(*name, option) && !export_count(e, specs, count))
				return e;
	return NULL;
}

/* Writes to out a text that is equal for two exports with the same destination. Returns true if the
 * destination is a file or a folder. */
static bool export_use_place(const char *spec, char out[2 * PATH_MAX])
{
	char path[PATH_MAX], real[PATH_MAX] = "-";
	const struct exporter *e = export_use_path(spec, path);
	bool file = e && e->place == EXPORT_TO_FILE;
	size_t len = strlen(path);

	if (!len) {
		snprintf(out, 2 * PATH_MAX, "%s", spec);
		return false;
	}
	while (!file && len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	export_use_real_path(path, real);
	snprintf(out, 2 * PATH_MAX, "%s:%s", file ? "" : e->name, real);
	return true;
}

/* Logs that two exports are in conflict. Logs their arguments only if these are paths: others may
 * contain a secret. */
static void export_use_log_clash(const char *a, const char *b, bool file)
{
	char first[256], second[256];

	if (file)
		log_error("--export %s and --export %s write to the same file or folder",
			  log_escape(first, sizeof(first), a, strlen(a)),
			  log_escape(second, sizeof(second), b, strlen(b)));
	else
		log_error("--export %s is given twice, with the same argument",
			  log_escape(first, sizeof(first), a, strcspn(a, ":")));
}

int export_clash(char *const *specs, int count)
{
	char place[2 * PATH_MAX], other[2 * PATH_MAX];
	bool file;

	for (int i = 1; i < count; i++) {
		file = export_use_place(specs[i], place);
		for (int k = 0; k < i; k++) {
			export_use_place(specs[k], other);
			/* Several exports may write to /dev/null. */
			if (strcmp(place, other) != 0 || !strcmp(place, ":/dev/null"))
				continue;
			export_use_log_clash(specs[k], specs[i], file);
			return -EINVAL;
		}
	}
	return 0;
}
