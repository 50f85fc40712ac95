/* SPDX-License-Identifier: Apache-2.0 */
/* descent.c - lists all descendants of a process, including children of its threads. */
#include "userspace/identity/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/base/table.h"
#include "userspace/base/proc_file.h"

#define DESCENDANTS_MAX	   65536
#define DESCENDANTS_ROUNDS 8

struct descent {
	struct table *known; /* pids that were found (pid -> pid) */
	pid_t *pids;
	size_t count, cap;
};

static int descent_add(struct descent *f, pid_t pid)
{
	size_t cap;
	pid_t *pids;
	int err;

	if (pid <= 0 || f->count >= DESCENDANTS_MAX || table_get(f->known, (uint64_t)pid))
		return 0;
	if (f->count == f->cap) {
		cap = f->cap ? f->cap * 2 : 64;
		pids = realloc(f->pids, cap * sizeof(*pids));
		if (!pids)
			return -ENOMEM;
		f->pids = pids;
		f->cap = cap;
	}
	err = table_put(f->known, (uint64_t)pid, f);
	if (!err)
		f->pids[f->count++] = pid;
	return err;
}

/* Adds the children in /proc/PID/task/TID/children, a list of pids that are each followed by a
 * space. */
static int descent_add_children(struct descent *f, int dir, const char *tid)
{
	char path[64], buf[4096];
	pid_t pid = 0;
	ssize_t n;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%.20s/children", tid);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (!err && (n = proc_read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n && !err; i++) {
			if (isdigit((unsigned char)buf[i]) && pid < INT32_MAX / 10 - 1) {
				pid = pid * 10 + (buf[i] - '0');
				continue;
			}
			err = descent_add(f, pid);
			pid = 0;
		}
	}
	close(fd);
	return err;
}

static int descent_add_tasks(struct descent *f, const char *root, pid_t pid)
{
	int fd = proc_open(root, pid, "task", O_RDONLY | O_DIRECTORY), err = 0;
	struct dirent *d;
	DIR *dir;

	if (fd < 0)
		return 0; /* the process has ended */
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (d = readdir(dir))) {
		if (isdigit((unsigned char)d->d_name[0]))
			err = descent_add_children(f, fd, d->d_name);
	}
	closedir(dir);
	return err;
}

struct kin {
	pid_t parent, pid;
};

struct kin_list {
	struct kin *all;
	size_t count, cap;
};

static int descent_kin_order(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;

	return x->parent != y->parent ? (x->parent > y->parent) - (x->parent < y->parent)
				      : (x->pid > y->pid) - (x->pid < y->pid);
}

static int descent_kin_read(struct kin_list *list, const char *root, pid_t pid)
{
	struct proc_stat s;
	struct kin *all;
	size_t cap;

	if (proc_stat(root, pid, &s))
		return 0; /* the process has ended */
	if (list->count == list->cap) {
		cap = list->cap ? list->cap * 2 : 256;
		all = realloc(list->all, cap * sizeof(*all));
		if (!all)
			return -ENOMEM;
		list->all = all;
		list->cap = cap;
	}
	list->all[list->count++] = (struct kin){(pid_t)s.parent, pid};
	return 0;
}

static int descent_kin_read_all(struct kin_list *list, const char *root)
{
	char path[PROC_PATH_MAX];
	struct dirent *d;
	int err = 0;
	pid_t pid;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", root);
	dir = opendir(path);
	if (!dir)
		return proc_error(errno);
	while (!err && (d = readdir(dir))) {
		pid = proc_number(d->d_name);
		if (pid > 0)
			err = descent_kin_read(list, root, pid);
	}
	closedir(dir);
	return err;
}

/* Finds descendants by the parent of each process, for kernels without CONFIG_PROC_CHILDREN. */
static int descent_add_by_parent(struct descent *f, const char *root)
{
	struct kin_list list = {0};
	size_t low, high, mid;
	int err = descent_kin_read_all(&list, root);

	if (list.count)
		qsort(list.all, list.count, sizeof(*list.all), descent_kin_order);
	for (size_t i = 0; !err && i < f->count; i++) {
		for (low = 0, high = list.count; low < high;) {
			mid = low + (high - low) / 2;
			if (list.all[mid].parent < f->pids[i])
				low = mid + 1;
			else
				high = mid;
		}
		for (; !err && low < list.count && list.all[low].parent == f->pids[i]; low++)
			err = descent_add(f, list.all[low].pid);
	}
	free(list.all);
	return err;
}

static bool descent_has_children_file(const char *root, pid_t pid)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "task/%d/children", (int)pid);
	fd = proc_open(root, pid, name, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int process_descendants(const char *root, pid_t pid, pid_t **ret)
{
	struct descent f = {.known = table_new()};
	size_t before;
	struct proc_stat s;
	bool children;
	int err = -ENOMEM;

	if (!f.known)
		goto out;
	err = proc_stat(root, pid, &s);
	if (err)
		goto out;
	children = descent_has_children_file(root, pid);
	err = descent_add(&f, pid);
	/* Processes may start during a round: repeat until a round finds no new process. */
	for (int round = 0; !err && round < DESCENDANTS_ROUNDS; round++) {
		before = f.count;
		for (size_t i = 0; children && !err && i < f.count; i++)
			err = descent_add_tasks(&f, root, f.pids[i]);
		if (!children)
			err = descent_add_by_parent(&f, root);
		if (f.count == before)
			break;
	}
out:
	table_free(f.known, NULL);
	if (err) {
		free(f.pids);
		return err;
	}
	*ret = f.pids;
	return (int)f.count;
}
