/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/library.h"
#include "loader/mapping.h"
#include "loader/site.h"
#include "userspace/base/buffer.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"

#define IDLE_NS	   1000000000ull /* without users before a library is detached */
#define ROUNDS_MAX 4		 /* looks at one process until nothing new turns up */
#define FILES_MAX  (1 << 16)	 /* files remembered as not ours */

struct library { /* one file that somebody maps */
	uint64_t dev, ino;
	uint32_t generation;
	bool judged;	  /* wanted is known */
	bool wanted;	  /* some row names it */
	bool attached;	  /* its sites were dealt with, and have users or had one lately */
	uint64_t idle_ns; /* since when it has none */
	uint64_t tag;
	uint64_t seen;	     /* number of the last look that met it */
	struct buffer users; /* of pid_t */
	struct site *sites;
	size_t site_count;
	char name[sizeof(((struct gp_attach *)0)->library)]; /* escaped */
};

struct libraries {
	const struct library_deps *deps;
	struct table *files; /* library_key() -> struct library */
	uint64_t look, tags;
};

int libraries_new(struct libraries **ret, const struct library_deps *deps)
{
	struct libraries *ls = calloc(1, sizeof(*ls));

	if (!ls)
		return -ENOMEM;
	ls->deps = deps;
	ls->files = table_new();
	if (!ls->files) {
		free(ls);
		return -ENOMEM;
	}
	*ret = ls;
	return 0;
}

static void library_free(void *value)
{
	struct library *lib = value;

	buffer_free(&lib->users);
	free(lib->sites);
	free(lib);
}

void libraries_free(struct libraries *ls)
{
	if (!ls)
		return;
	table_free(ls->files, library_free);
	free(ls);
}

/* ---- telling ------------------------------------------------------------------------------- */

static void site_report(const struct libraries *ls, const struct library *lib, const struct site *site)
{
	const struct probe_row *row = probe_table_row(ls->deps->probes, site->row);
	const uint32_t *price = row->returns ? ls->deps->price->return_ns : ls->deps->price->enter_ns;
	struct gp_attach a = {
		.dev = lib->dev,
		.ino = lib->ino,
		.offset = site->offset,
		.price_ns = price[site->insn],
		.error = site->error,
		.insn = (uint8_t)site->insn,
		.state = (uint8_t)site->state,
	};

	memcpy(a.library, lib->name, sizeof(a.library));
	if (ls->deps->on_attach)
		ls->deps->on_attach(ls->deps->ctx, row->hash, &a);
}

static void library_fail(const struct libraries *ls, struct library *lib, const size_t *rows, size_t n,
			 int err)
{
	log_warn("%s: cannot be probed: %s", lib->name, strerror(-err));
	for (size_t i = 0; i < n; i++)
		site_report(ls, lib, &(struct site){.row = rows[i], .state = GP_ATTACH_failed, .error = err});
}

/* ---- which files ---------------------------------------------------------------------------- */

/* Every process maps these: a probe there would be paid by the whole machine. */
static bool name_forbidden(const char *name)
{
	static const char *const globs[] = {"libc.so*",	   "libc-[0-9]*", "libc.musl*",	     "ld-*.so*",
					    "ld.so*",	   "libstdc++.*", "libpthread[.-]*", "libm.so*",
					    "libm-[0-9]*", "libgcc_s.*",  "libdl[.-]*",	     "librt[.-]*"};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (!fnmatch(globs[i], name, 0))
			return true;
	return false;
}

static bool row_names(const struct probe_row *row, const char *name)
{
	for (size_t i = 0; row->libraries && row->libraries[i]; i++)
		if (!fnmatch(row->libraries[i], name, 0))
			return true;
	return false;
}

/* Indices of the rows that are for a file of this name. */
static size_t rows_for(const struct probe_table *probes, const char *name, size_t rows[GP_ROWS_MAX])
{
	size_t n = 0;

	if (name_forbidden(name))
		return 0;
	for (size_t i = 0; i < probe_table_count(probes) && n < GP_ROWS_MAX; i++)
		if (row_names(probe_table_row(probes, i), name))
			rows[n++] = i;
	return n;
}

static uint64_t library_key(const struct gp_vma *vma)
{
	/* Mixed as in splitmix64 (Steele, Lea, Flood 2014), so that two devices rarely meet. */
	uint64_t z = vma->ino + vma->dev * 0x9e3779b97f4a7c15ull + vma->generation;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool library_is(const struct library *lib, const struct gp_vma *vma)
{
	return lib->dev == vma->dev && lib->ino == vma->ino && lib->generation == vma->generation;
}

static void files_trim(struct libraries *ls)
{
	struct library *lib;
	uint64_t key;

	if (table_count(ls->files) < FILES_MAX)
		return;
	for (size_t i = 0; (lib = table_next(ls->files, &i, &key));)
		if (!lib->wanted)
			library_free(table_take(ls->files, key));
}

static struct library *library_get(struct libraries *ls, const struct gp_vma *vma)
{
	struct library *lib = table_get(ls->files, library_key(vma));

	if (lib)
		return library_is(lib, vma) ? lib : NULL;
	files_trim(ls);
	lib = calloc(1, sizeof(*lib));
	if (!lib)
		return NULL;
	*lib = (struct library){
		.dev = vma->dev, .ino = vma->ino, .generation = vma->generation, .tag = ++ls->tags};
	if (!table_put(ls->files, library_key(vma), lib))
		return lib;
	free(lib);
	return NULL;
}

/* ---- users ---------------------------------------------------------------------------------- */

static bool user_has(const struct library *lib, pid_t pid)
{
	const pid_t *users = (const pid_t *)lib->users.data;

	for (size_t i = 0; i < lib->users.len / sizeof(pid); i++)
		if (users[i] == pid)
			return true;
	return false;
}

static void user_add(struct library *lib, pid_t pid)
{
	if (!user_has(lib, pid))
		buffer_add(&lib->users, &pid, sizeof(pid));
}

static void user_remove(struct library *lib, pid_t pid)
{
	pid_t *users = (pid_t *)lib->users.data;
	size_t n = lib->users.len / sizeof(pid);

	for (size_t i = 0; i < n; i++) {
		if (users[i] != pid)
			continue;
		users[i] = users[n - 1];
		lib->users.len -= sizeof(pid);
		return;
	}
}

static bool process_maps(const struct libraries *ls, const struct library *lib, pid_t pid)
{
	struct gp_vma *vmas = NULL;
	int n = mapping_list(ls->deps->kernel->vmas, pid, &vmas);
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		found = library_is(lib, &vmas[i]);
	free(vmas);
	return found;
}

/* A child may use the library and never have been looked at: ask before giving the library up. */
static void users_search(const struct libraries *ls, struct library *lib, pid_t gone)
{
	uint32_t key, *last = NULL;

	while (!bpf_map_get_next_key(ls->deps->kernel->watched_fd, last, &key)) {
		last = &key;
		if ((pid_t)key == gone || !process_maps(ls, lib, (pid_t)key))
			continue;
		user_add(lib, (pid_t)key);
		return;
	}
}

static void library_drop(struct libraries *ls, struct library *lib)
{
	attach_drop(ls->deps->attach, lib->tag);
	lib->attached = false;
	for (size_t i = 0; i < lib->site_count; i++) {
		if (lib->sites[i].state != GP_ATTACH_attached)
			continue;
		lib->sites[i].state = GP_ATTACH_detached;
		site_report(ls, lib, &lib->sites[i]);
	}
}

static void library_leave(struct libraries *ls, struct library *lib, pid_t pid)
{
	if (!user_has(lib, pid))
		return;
	user_remove(lib, pid);
	if (!lib->users.len)
		users_search(ls, lib, pid);
	if (!lib->users.len && lib->attached)
		lib->idle_ns = clock_mono_ns();
}

/* The next process that maps it may be a moment away (a restart, a launcher): then nothing is missed, and
 * nothing has to be attached again. */
void libraries_reap(struct libraries *ls)
{
	uint64_t now_ns = clock_mono_ns();
	struct library *lib;

	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));)
		if (lib->attached && !lib->users.len && now_ns - lib->idle_ns >= IDLE_NS)
			library_drop(ls, lib);
}

/* ---- attaching ------------------------------------------------------------------------------ */

static void library_attach(struct libraries *ls, struct library *lib, const size_t *rows, size_t n, int fd)
{
	const struct library_deps *d = ls->deps;
	int count;

	free(lib->sites);
	lib->sites = NULL;
	lib->site_count = 0;
	lib->attached = true;
	count = sites_find(d->probes, rows, n, d->cache_dir, fd, &lib->sites);
	if (count < 0) {
		library_fail(ls, lib, rows, n, count);
		return;
	}
	lib->site_count = (size_t)count;
	sites_attach(lib->sites, lib->site_count, d->probes, d->rows, d->kernel, d->attach, lib->tag, fd);
	for (size_t i = 0; i < lib->site_count; i++) {
		const struct probe_row *row = probe_table_row(d->probes, lib->sites[i].row);

		if (lib->sites[i].state == GP_ATTACH_attached && row->role == GP_ROLE_range_end)
			rows_runtime_set_ends(d->rows, row->runtime);
		site_report(ls, lib, &lib->sites[i]);
	}
}

/* Returns 1 when the library was attached just now. */
static int library_meet(struct libraries *ls, struct library *lib, pid_t pid, const struct gp_vma *vma)
{
	size_t rows[GP_ROWS_MAX], n;
	char path[PATH_MAX];
	const char *base;
	int fd;

	if (lib->attached || (lib->judged && !lib->wanted))
		return 0;
	if (mapping_path(pid, vma, path, sizeof(path)))
		return 0;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	n = rows_for(ls->deps->probes, base, rows);
	lib->judged = true;
	lib->wanted = n > 0;
	if (!n)
		return 0;
	log_escape(lib->name, sizeof(lib->name), base, strlen(base));
	fd = mapping_open(pid, vma, path);
	if (fd < 0) {
		lib->wanted = fd != -EINVAL; /* what is no file now never will be; all else may pass */
		log_debug("%s of process %d: %s", lib->name, pid, strerror(-fd));
		return 0;
	}
	library_attach(ls, lib, rows, n, fd);
	close(fd);
	return 1;
}

static int process_look(struct libraries *ls, pid_t pid)
{
	struct gp_vma *vmas = NULL;
	struct library *lib;
	int fresh = 0, n = mapping_list(ls->deps->kernel->vmas, pid, &vmas);

	if (n < 0)
		return n;
	ls->look++;
	for (int i = 0; i < n; i++) {
		lib = library_get(ls, &vmas[i]);
		if (!lib)
			continue;
		fresh += library_meet(ls, lib, pid, &vmas[i]);
		lib->seen = ls->look;
		if (lib->attached)
			user_add(lib, pid);
	}
	free(vmas);
	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));)
		if (lib->wanted && lib->seen != ls->look)
			library_leave(ls, lib, pid);
	return fresh;
}

/* A begin whose runtime announces no end would open ranges for ever; such rows stay silent. */
static void silent_warn(const struct libraries *ls)
{
	const struct library *lib;

	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));) {
		for (size_t s = 0; s < lib->site_count; s++) {
			const struct probe_row *row = probe_table_row(ls->deps->probes, lib->sites[s].row);

			if (lib->sites[s].state == GP_ATTACH_attached && row->role == GP_ROLE_range_begin &&
			    !row->anonymous && !rows_runtime_ends(ls->deps->rows, row->runtime))
				log_info("%s: %s waits for a library that ends its ranges", lib->name,
					 row->id);
		}
	}
}

/* Until nothing new: a library may be mapped between the look and the attaching (recipe H). */
int libraries_scan(struct libraries *ls, pid_t pid)
{
	int total = 0, fresh;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		fresh = process_look(ls, pid);
		if (fresh < 0)
			return total ? total : fresh;
		if (!fresh)
			break;
		total += fresh;
	}
	if (total)
		silent_warn(ls);
	return total;
}

void libraries_forget(struct libraries *ls, pid_t pid)
{
	struct library *lib;

	for (size_t i = 0; (lib = table_next(ls->files, &i, NULL));)
		if (lib->wanted)
			library_leave(ls, lib, pid);
}
