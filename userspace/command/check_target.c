/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/base/proc_file.h"
#include "userspace/command/check_target.h"
#include "userspace/identity/package.h"

#define MAPS_LINES_MAX 100000
#define RUNTIMES_MAX   64

static size_t check_target_probes_count(const struct check_find *f)
{
	return f->probes.len / sizeof(struct check_probe);
}

static size_t check_target_runtimes_count(const struct check_find *f)
{
	return f->runtimes.len / sizeof(struct check_runtime);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static struct check_probe *check_target_probe_known(struct check_find *f, const char *id,
						    const struct gp_attach *a)
{
	struct check_probe *p = (struct check_probe *)f->probes.data;

	for (size_t i = 0; i < check_target_probes_count(f); i++)
		if (!strcmp(p[i].id, id) && p[i].a.dev == a->dev && p[i].a.ino == a->ino &&
		    p[i].a.offset == a->offset && !strcmp(p[i].a.library, a->library))
			return &p[i];
	return NULL;
}

static bool check_target_compiles(const struct probe_table *t, const char *runtime)
{
	for (size_t i = 0; i < probe_table_count(t); i++)
		if (probe_table_row(t, i)->role == GP_ROLE_compile_begin &&
		    !strcmp(probe_table_row(t, i)->runtime, runtime))
			return true;
	return false;
}

static void check_target_find_probe(struct check_find *f, const struct probe_row *row,
				    const struct gp_attach *a)
{
	struct check_probe *known = check_target_probe_known(f, row->id, a);
	struct check_probe p = {
		.id = row->id,
		.runtime = row->runtime,
		.versions = row->versions,
		.role = (uint16_t)row->role,
		.returns = row->returns,
		.anonymous = row->anonymous,
		.verified = row->verified,
		.names = row->string != PROBE_STRING_NONE,
		.compiles = check_target_compiles(f->table, row->runtime),
		.why = loader_attach_text(a),
		.hit_cost_ns = a->hit_cost_ns,
		.a = *a,
	};

	if (!p.hit_cost_ns && f->loader && a->state == GP_ATTACH_attached)
		p.hit_cost_ns = loader_hit_cost_ns(f->loader, a->insn, row->returns);
	if (known)
		*known = p;
	else
		buffer_add(&f->probes, &p, sizeof(p));
}

void check_find_attached(void *ctx, uint32_t probe, const struct gp_attach *a)
{
	struct check_find *f = ctx;
	const struct probe_row *row = probe_table_row(f->table, probe_table_index(f->table, probe));

	if (row)
		check_target_find_probe(f, row, a);
}

void check_find_planned(void *ctx, const char *probe_id, const struct gp_attach *a)
{
	check_find_attached(ctx, gp_probe_hash(probe_id), a);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool check_target_runtime_known(const struct check_find *f, const char *runtime,
				       const char *library)
{
	const struct check_runtime *r = (const struct check_runtime *)f->runtimes.data;

	for (size_t i = 0; i < check_target_runtimes_count(f); i++)
		if (!strcmp(r[i].runtime, runtime) && !strcmp(r[i].library, library))
			return true;
	return false;
}

static void check_target_find_library(struct check_find *f, const char *runtime,
				      const char *library, const char *path)
{
	struct check_runtime r = {.runtime = runtime, .library = library};
	char *own = path ? strdup(path) : NULL;

	if (check_target_runtime_known(f, runtime, library)) {
		free(own);
		return;
	}
	buffer_add(&f->runtimes, &r, sizeof(r));
	buffer_add(&f->paths, &own, sizeof(own));
}

/* Adds the library at path if a checked probe belongs to a library of this name. */
static void check_target_find_file(struct check_find *f, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const struct check_probe *p = (const struct check_probe *)f->probes.data;
	char library[sizeof(p->a.library)];

	log_escape(library, sizeof(library), base, strlen(base));
	for (size_t i = 0; i < check_target_probes_count(f); i++)
		if (!strcmp(p[i].a.library, library))
			check_target_find_library(f, p[i].runtime, p[i].a.library, path);
}

/* Adds the libraries of checked probes that have no file name in the process's maps, because they
 * are only in memory. */
static void check_target_find_rest(struct check_find *f)
{
	const struct check_probe *p = (const struct check_probe *)f->probes.data;

	for (size_t i = 0; i < check_target_probes_count(f); i++)
		check_target_find_library(f, p[i].runtime, p[i].a.library, NULL);
}

static void check_target_find_mapped(struct check_find *f)
{
	static const char deleted[] = " (deleted)";
	char line[PATH_MAX + 128], path[PATH_MAX + 64], *at;
	int fd = proc_open("", (pid_t)f->pid, "maps", O_RDONLY);
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "r");

	for (int n = 0; maps && n < MAPS_LINES_MAX && fgets(line, sizeof(line), maps); n++) {
		line[strcspn(line, "\n")] = '\0';
		at = strstr(line, deleted);
		if (at && !at[strlen(deleted)])
			*at = '\0';
		at = strchr(line, '/');
		if (!at)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/root%s", f->pid, at);
		check_target_find_file(f, path);
	}
	if (maps)
		fclose(maps);
	else if (fd >= 0)
		close(fd);
	check_target_find_rest(f);
}

void check_find_files(struct check_find *f, const char *path)
{
	char *real;

	if (f->pid) {
		check_target_find_mapped(f);
		return;
	}
	real = realpath(path, NULL);
	if (real)
		check_target_find_file(f, real);
	free(real);
}

/* Lists `runtime` first, and then the other runtimes of the probe table, each once. */
static void check_target_list_runtimes(const struct check_find *f, const char *runtime,
				       const char *ret[RUNTIMES_MAX + 1])
{
	const struct probe_row *row;
	size_t n = 0, k;

	ret[n++] = runtime;
	for (size_t i = 0; n < RUNTIMES_MAX && (row = probe_table_row(f->table, i)); i++) {
		for (k = 0; k < n && strcmp(ret[k], row->runtime) != 0; k++)
			;
		if (k == n)
			ret[n++] = row->runtime;
	}
	ret[n] = NULL;
}

void check_find_versions(struct check_find *f)
{
	struct check_runtime *r = (struct check_runtime *)f->runtimes.data;
	char *const *paths = (char *const *)f->paths.data;
	const char *runtimes[RUNTIMES_MAX + 1];

	for (size_t i = 0; i < check_target_runtimes_count(f) && !f->paths.failed; i++) {
		if (!paths[i])
			continue;
		check_target_list_runtimes(f, r[i].runtime, runtimes);
		r[i].version_from = package_version(paths[i], runtimes, r[i].version,
						    sizeof(r[i].version));
	}
}

/* ---- result ---------------------------------------------------------------------------------- */

struct check_target check_find_target(const struct check_find *f)
{
	return (struct check_target){
		.name = f->name ? f->name : "?",
		.pid = f->pid,
		.error = f->error,
		.probes = (const struct check_probe *)f->probes.data,
		.nprobes = check_target_probes_count(f),
		.runtimes = (const struct check_runtime *)f->runtimes.data,
		.nruntimes = check_target_runtimes_count(f),
	};
}

void check_find_free(struct check_find *f)
{
	char **paths = (char **)f->paths.data;

	for (size_t i = 0; i < f->paths.len / sizeof(*paths); i++)
		free(paths[i]);
	buffer_free(&f->paths);
	buffer_free(&f->runtimes);
	buffer_free(&f->probes);
	free(f->name);
	free(f->error);
}
