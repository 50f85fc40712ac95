/* SPDX-License-Identifier: Apache-2.0 */
/* library_file.c - the table of mapped files, and the probe rows for each file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/library/library.h"
#include "loader/library/library_private.h"
#include "loader/library/library_user.h"
#include "loader/reader/mapping.h"
#include "loader/probe/probe_match.h"
#include "userspace/base/log.h"

/* Limit of files in the table; when it is full, unrelated files are removed */
#define FILES_MAX	(1 << 16)
#define NAMELESS_LOGGED 20

uint64_t library_key(const struct gp_vma *vma)
{
	/* The numbers are mixed as in splitmix64 (Steele, Lea, Flood 2014), so that files of two
	 * devices rarely have the same key. */
	uint64_t z = vma->ino + vma->dev * 0x9e3779b97f4a7c15ull + vma->generation;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

struct gp_vma library_file(const struct library *lib)
{
	return (struct gp_vma){.dev = lib->dev, .ino = lib->ino, .generation = lib->generation};
}

static bool library_is(const struct library *lib, const struct gp_vma *vma)
{
	return lib->dev == vma->dev && lib->ino == vma->ino && lib->generation == vma->generation;
}

void library_free(void *value)
{
	struct library *lib = value;

	table_free(lib->users, NULL);
	free(lib->rows);
	free(lib->sites);
	if (lib->fd >= 0)
		close(lib->fd);
	free(lib);
}

/* Removes unrelated and not yet classified files from a full table. A caller of library_get() must
 * not hold a pointer to another library. */
static void files_trim(struct libraries *ls)
{
	struct library *lib;
	uint64_t key;

	if (table_count(ls->files) < FILES_MAX)
		return;
	for (size_t i = 0; (lib = table_next(ls->files, &i, &key));)
		if (lib->state <= LIBRARY_UNRELATED && !lib->following && !lib->searching)
			library_free(table_take(ls->files, key));
}

struct library *library_get(struct libraries *ls, const struct gp_vma *vma)
{
	struct library *lib = table_get(ls->files, library_key(vma));

	if (lib)
		return library_is(lib, vma) ? lib : NULL;
	files_trim(ls);
	lib = calloc(1, sizeof(*lib));
	if (!lib)
		return NULL;
	*lib = (struct library){.dev = vma->dev,
				.ino = vma->ino,
				.generation = vma->generation,
				.tag = ++ls->tags,
				.fd = -1};
	if (!table_put(ls->files, library_key(vma), lib))
		return lib;
	free(lib);
	return NULL;
}

int library_path(struct libraries *ls, pid_t pid, const struct gp_vma *vma, char path[PATH_MAX])
{
	const char *known = ls->paths ? mapping_paths_get(ls->paths, vma->start) : NULL;
	int err;

	if (known) {
		snprintf(path, PATH_MAX, "%s", known);
		return 0;
	}
	err = mapping_path_by_helper(ls->deps->helper, pid, vma, path, PATH_MAX);
	if (err == -ETIMEDOUT || err == -EBUSY)
		ls->closed = err;
	return err;
}

static void library_report_nameless(struct libraries *ls, pid_t pid, const char *name)
{
	if (ls->nameless++ < NAMELESS_LOGGED)
		log_warn(
			"process %d: code in memory (memfd:%s) is not probed: it has no soname, or CAP_CHECKPOINT_RESTORE is missing",
			pid, name);
}

static int library_want(struct library *lib, const size_t *rows, size_t n, const char *name)
{
	lib->rows = reallocarray(NULL, n, sizeof(*lib->rows));
	if (!lib->rows)
		return -ENOMEM;
	memcpy(lib->rows, rows, n * sizeof(*rows));
	lib->row_count = n;
	lib->state = LIBRARY_WANTED;
	memcpy(lib->name, name, sizeof(lib->name));
	return 0;
}

int library_classify(struct libraries *ls, struct library *lib, pid_t pid, const struct gp_vma *vma)
{
	size_t rows[GP_ROWS_MAX], n;
	char path[PATH_MAX];
	char name[sizeof(lib->name)];
	const char *base;
	bool nameless;
	int err = library_path(ls, pid, vma, path);

	if (err)
		return err;
	nameless = mapping_in_memory(path) && path[strlen(path) - 1] == '/';
	base = mapping_base(path);
	log_escape(name, sizeof(name), base, strlen(base));
	n = probe_rows_for(ls->deps->probes, base, rows);
	lib->classified_name = vma->name;
	lib->state = LIBRARY_UNRELATED;
	if (!n && nameless)
		library_report_nameless(ls, pid, name);
	if (!n)
		return 0;
	return library_want(lib, rows, n, name);
}

/* ---- runtimes that are linked into a program ------------------------------------------------- */

/* Returns true when the process maps a library of the row's runtime, but none to which the row
 * applies. */
static bool library_file_row_linked(const struct libraries *ls, pid_t pid, size_t row)
{
	const struct probe_table *t = ls->deps->probes;
	const char *runtime = probe_table_row(t, row)->runtime;
	const struct library *lib;
	bool used = false;

	for (size_t i = 0; (lib = user_next(ls->users, pid, &i));) {
		for (size_t r = 0; r < lib->row_count; r++) {
			if (lib->rows[r] == row)
				return false;
			used |= !strcmp(probe_table_row(t, lib->rows[r])->runtime, runtime);
		}
	}
	return used;
}

static bool library_file_path_is_program(pid_t pid, const char *path)
{
	char name[64], program[PATH_MAX];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	n = readlink(name, program, sizeof(program) - 1);
	return n > 0 && (size_t)n == strlen(path) && !memcmp(program, path, (size_t)n);
}

bool library_classify_program(struct libraries *ls, struct library *lib, pid_t pid,
			      const struct gp_vma *vma)
{
	char path[PATH_MAX], name[sizeof(lib->name)];
	size_t rows[GP_ROWS_MAX], n = 0;
	const char *base;

	for (size_t i = 0; i < ls->linked_count; i++)
		if (library_file_row_linked(ls, pid, ls->linked[i]))
			rows[n++] = ls->linked[i];
	if (!n || library_path(ls, pid, vma, path) || !library_file_path_is_program(pid, path))
		return false;
	base = mapping_base(path);
	if (probe_name_forbidden(base))
		return false;
	log_escape(name, sizeof(name), base, strlen(base));
	lib->program = true;
	return !library_want(lib, rows, n, name);
}
