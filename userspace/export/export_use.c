/* SPDX-License-Identifier: Apache-2.0 */
/* Two exports with one place to write to would write over each other, or each line twice. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/export/export.h"

/* The path itself, of a file that may not be there yet. */
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

/* Writes to out a text that is the same for two exports with the same place. Returns true when the
 * place is a file or a folder. */
static bool export_use_place(const char *spec, char out[2 * PATH_MAX])
{
	size_t len = strcspn(spec, ":");
	const struct exporter *e = export_find(spec, len);
	char path[PATH_MAX], real[PATH_MAX] = "-", *setting;
	bool file = e && e->place == EXPORT_TO_FILE;

	if (!e || e->place == EXPORT_ELSEWHERE) {
		snprintf(out, 2 * PATH_MAX, "%s", spec);
		return false;
	}
	snprintf(path, sizeof(path), "%s", spec[len] && spec[len + 1] ? spec + len + 1 : "-");
	for (int k = 0; k < 2; k++)
		if (e->setting[k] && (setting = strstr(path, e->setting[k])))
			*setting = '\0';
	len = strlen(path);
	while (!file && len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	export_use_real_path(path, real);
	snprintf(out, 2 * PATH_MAX, "%s:%s", file ? "" : e->name, real);
	return true;
}

/* The argument is logged only where it is a path: another one may hold a secret. */
static void export_use_log_clash(const char *a, const char *b, bool file)
{
	char first[256], second[256];

	if (file)
		log_error("--export %s and --export %s write to the same place",
			  log_escape(first, sizeof(first), a, strlen(a)),
			  log_escape(second, sizeof(second), b, strlen(b)));
	else
		log_error("--export %s is asked for twice, with the same argument",
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
			/* Nothing is mixed up there. */
			if (strcmp(place, other) != 0 || !strcmp(place, ":/dev/null"))
				continue;
			export_use_log_clash(specs[k], specs[i], file);
			return -EINVAL;
		}
	}
	return 0;
}
