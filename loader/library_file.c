/* SPDX-License-Identifier: Apache-2.0 */
/* Which files there are, and what each is to us. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/library.h"
#include "loader/library_private.h"
#include "loader/mapping.h"
#include "loader/probe_match.h"
#include "userspace/base/log.h"

#define FILES_MAX (1 << 16) /* files remembered as not ours */

uint64_t library_key(const struct gp_vma *vma)
{
	/* Mixed as in splitmix64 (Steele, Lea, Flood 2014), so that two devices rarely meet. */
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

/* Also those that nobody got to look at: whoever maps them may have ended. None is held while
 * another is got.
 */
static void files_trim(struct libraries *ls)
{
	struct library *lib;
	uint64_t key;

	if (table_count(ls->files) < FILES_MAX)
		return;
	for (size_t i = 0; (lib = table_next(ls->files, &i, &key));)
		if (lib->state <= LIBRARY_FOREIGN && !lib->following && !lib->looking)
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
	int err = mapping_path_aside(ls->deps->aside, pid, vma, path, PATH_MAX);

	if (err == -ETIMEDOUT || err == -EBUSY)
		ls->closed = err;
	return err;
}

int library_judge(struct libraries *ls, struct library *lib, pid_t pid, const struct gp_vma *vma)
{
	size_t rows[GP_ROWS_MAX], n;
	char path[PATH_MAX];
	const char *base;
	int err = library_path(ls, pid, vma, path);

	if (err)
		return err;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	n = probe_rows_for(ls->deps->probes, base, rows);
	lib->judged_name = vma->name;
	lib->state = LIBRARY_FOREIGN;
	if (!n)
		return 0;
	lib->rows = reallocarray(NULL, n, sizeof(*lib->rows));
	if (!lib->rows)
		return -ENOMEM;
	memcpy(lib->rows, rows, n * sizeof(*rows));
	lib->row_count = n;
	lib->state = LIBRARY_WANTED;
	log_escape(lib->name, sizeof(lib->name), base, strlen(base));
	return 0;
}
