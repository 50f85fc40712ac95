/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - finds where the probes of a file would be attached, without attaching them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/loader.h"
#include "loader/probe/probe_match.h"
#include "loader/site/site.h"
#include "userspace/base/path.h"

/* The search of a file ends after a time limit, which suits the reader processes. A plan (the
 * probes of a file, without attaching them) can wait longer: it repeats a search that was too slow
 * up to this many times. Each search finds in the page cache what earlier ones read. */
#define SEARCHES_MAX 12

static void plan_site_report(const struct probe_table *t, const struct site *site,
			     const struct stat *st, const char *base, loader_plan_fn *fn, void *ctx)
{
	struct gp_attach a = {
		.dev = st->st_dev,
		.ino = st->st_ino,
		.offset = site->offset,
		.error = site->error,
		.insn = (__u8)site->insn,
		.state = site_open(site) ? GP_ATTACH_failed : (__u8)site->state,
	};

	snprintf(a.library, sizeof(a.library), "%s", base);
	fn(ctx, probe_table_row(t, site->row)->id, &a);
}

static int plan_search(const struct probe_table *t, const size_t *rows, size_t n, int fd,
		       struct site **ret)
{
	for (int search = 1;; search++) {
		int count = sites_find(t, rows, n, NULL, fd, ret);
		bool slow = false;

		for (int i = 0; i < count; i++)
			slow |= site_open(&(*ret)[i]);
		if (!slow || search == SEARCHES_MAX)
			return count;
		free(*ret);
		*ret = NULL;
	}
}

static int plan_open(const char *path, struct stat *ret_st)
{
	int fd = path_open(path, O_RDONLY, 0);
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, ret_st) ? -errno : S_ISREG(ret_st->st_mode) ? 0 : -EINVAL;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int plan_file(const struct probe_table *t, const char *path, loader_plan_fn *fn, void *ctx)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t rows[GP_ROWS_MAX], n = probe_rows_for(t, base, rows);
	struct site *sites = NULL;
	int fd, count;
	struct stat st;

	fd = plan_open(path, &st);
	if (fd < 0)
		return fd;
	count = n ? plan_search(t, rows, n, fd, &sites) : 0;
	for (int i = 0; i < count; i++)
		plan_site_report(t, &sites[i], &st, base, fn, ctx);
	free(sites);
	close(fd);
	return count < 0 ? count : 0;
}

int loader_plan(const struct probe_table *t, const char *path, loader_plan_fn *fn, void *ctx)
{
	/* If path is a symbolic link, use the name of its target: /proc shows that name for a
	 * mapped file. */
	char *real = realpath(path, NULL);
	int err;

	if (!real)
		return -errno;
	err = plan_file(t, real, fn, ctx);
	free(real);
	return err;
}
