/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/probe_file.h"
#include "loader/site.h"

static size_t rows_for(const struct probe_table *t, const char *base, size_t *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < probe_table_count(t); i++) {
		const char *const *glob = probe_table_row(t, i)->libraries;

		while (*glob && fnmatch(*glob, base, 0))
			glob++;
		if (*glob)
			rows[n++] = i;
	}
	return n;
}

static void site_tell(const struct probe_table *t, const struct site *site, const struct stat *st,
		      const char *base, loader_plan_fn *fn, void *ctx)
{
	struct gp_attach a = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.offset = site->offset,
		.error = site->error,
		.insn = (__u8)site->insn,
		.state = (__u8)site->state,
	};

	snprintf(a.library, sizeof(a.library), "%s", base);
	fn(ctx, probe_table_row(t, site->row)->id, &a);
}

static int plan_open(const char *path, struct stat *ret_st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, ret_st) ? -errno : S_ISREG(ret_st->st_mode) ? 0 : -EINVAL;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int loader_plan(const struct probe_table *t, const char *path, loader_plan_fn *fn, void *ctx)
{
	/* A process maps the file itself, so its own name counts, not that of a link to it. */
	char *real = realpath(path, NULL);
	struct site *sites = NULL;
	size_t rows[GP_ROWS_MAX], n;
	int fd = -1, count;
	const char *base;
	struct stat st;

	count = real ? 0 : -errno;
	if (!count)
		fd = count = plan_open(real, &st);
	if (count < 0)
		goto out;
	base = strrchr(real, '/') + 1;
	n = rows_for(t, base, rows);
	count = n ? sites_find(t, rows, n, NULL, fd, &sites) : 0;
	for (int i = 0; i < count; i++)
		site_tell(t, &sites[i], &st, base, fn, ctx);
out:
	free(sites);
	if (fd >= 0)
		close(fd);
	free(real);
	return count < 0 ? count : 0;
}
