/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"
#include "userspace/identity/environment.h"

/* Limit of descriptors that are checked. Runtimes open their devices early, so the descriptors of
 * devices have low numbers. */
#define FDS_MAX 4096
/* Least length of an abbreviated UUID ("GPU-8f6b..."). */
#define UUID_MIN 8

/* ---- open devices ---------------------------------------------------------------------------- */

static bool held_is_node(const char *path, const char *prefix, uint32_t *ret)
{
	size_t len = strlen(prefix);
	int32_t number = strncmp(path, prefix, len) != 0 ? -1 : proc_number(path + len);

	*ret = (uint32_t)number;
	return number >= 0;
}

static void held_add(struct held *h, const char *path)
{
	struct device_id id = {.kind = DEVICE_NVIDIA};

	if (!held_is_node(path, "/dev/nvidia", &id.number)) {
		id.kind = DEVICE_DRM;
		if (!held_is_node(path, "/dev/dri/renderD", &id.number))
			return;
	}
	for (uint32_t i = 0; i < h->count; i++) {
		if (h->device[i].kind == id.kind && h->device[i].number == id.number)
			return;
	}
	if (h->count < HELD_MAX)
		h->device[h->count++] = id;
}

static int held_read_open(const char *root, pid_t pid, struct held *h)
{
	int fd = proc_open(root, pid, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *e;
	char path[64];
	DIR *d;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	for (int i = 0; i < FDS_MAX && (e = readdir(d)); i++) {
		ssize_t n = readlinkat(fd, e->d_name, path, sizeof(path) - 1);

		if (n <= 0)
			continue;
		path[n] = '\0';
		held_add(h, path);
	}
	closedir(d);
	return 0;
}

int held_read(const char *root, pid_t pid, struct held *ret)
{
	struct environment env;
	int err;

	*ret = (struct held){.local_rank = -1, .local_size = -1};
	err = held_read_open(root, pid, ret);
	if (err || !ret->count)
		return err;
	err = environment_read(root, pid, &env);
	if (err)
		return err;
	ret->local_rank = env.local_rank;
	ret->local_size = env.local_size;
	for (int i = 0; i < ENVIRONMENT_VISIBLE; i++) {
		if (!*env.visible[i])
			continue;
		/* If two variables restrict the devices, the result depends on the runtime: treat
		 * it as unknown ("?"). */
		snprintf(ret->visible, sizeof(ret->visible), "%s",
			 *ret->visible ? "?" : env.visible[i]);
	}
	return 0;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* The devices that a process has open, as indexes in `all`, in the order in which the runtime
 * numbers them */
struct held_order {
	const struct device_id *all;
	uint32_t n, count;
	int at[HELD_MAX];
};

/* Returns the index in `all` of the open device whose UUID begins with name; -1 if there is none,
 * or more than one. */
static int held_named(const struct held_order *o, const char *name)
{
	int found = -1;

	for (uint32_t i = 0; i < o->count; i++) {
		if (strlen(name) < UUID_MIN ||
		    strncmp(o->all[o->at[i]].uuid, name, strlen(name)) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = o->at[i];
	}
	return found;
}

/* Finds the device for the k-th of `count` numbers of a list such as CUDA_VISIBLE_DEVICES. If as
 * many devices are open as the list has numbers, only the order of the numbers counts: the process
 * opened only these devices, or its container has no others. Otherwise the numbers count all
 * devices of the machine, if all are open. Returns the index in `all`, or -1. */
static int held_numbered(const struct held_order *o, const int32_t *number, uint32_t count,
			 uint32_t k)
{
	uint32_t smaller = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (number[i] < 0 || (i != k && number[i] == number[k]))
			return -1;
		smaller += number[i] < number[k];
	}
	if (count == o->count)
		return o->at[smaller];
	return o->count == o->n && (uint32_t)number[k] < o->n ? o->at[number[k]] : -1;
}

/* Reduces the devices to those in the list `visible`, in the order of the list. No device is left
 * if the list cannot be interpreted. */
static void held_restrict(struct held_order *o, const char *visible)
{
	char names[HELD_NAMES], *rest = names, *name;
	struct held_order named = {.all = o->all, .n = o->n};
	int32_t number[HELD_MAX];
	uint32_t i;

	snprintf(names, sizeof(names), "%s", visible);
	while ((name = strsep(&rest, ",")) && named.count < HELD_MAX) {
		number[named.count] = proc_number(name);
		named.at[named.count++] = held_named(o, name);
	}
	for (i = 0; i < named.count; i++) {
		if (number[0] >= 0)
			named.at[i] = held_numbered(o, number, named.count, i);
		if (named.at[i] < 0)
			break;
	}
	named.count = i < named.count || rest ? 0 : named.count;
	*o = named;
}

static bool held_has(const struct held *h, const struct device_id *id)
{
	for (uint32_t i = 0; i < h->count; i++) {
		if (h->device[i].kind == id->kind && h->device[i].number == id->number)
			return true;
	}
	return false;
}

int held_choose(const struct held *h, const struct device_id *all, uint32_t n, bool ordered)
{
	struct held_order o = {.all = all, .n = n};

	for (uint32_t i = 0; i < n && o.count < HELD_MAX; i++) {
		if (held_has(h, &all[i]))
			o.at[o.count++] = (int)i;
	}
	if (o.count < 2)
		return o.count ? o.at[0] : -ENODEV;
	if (!ordered && (!*h->visible || (*h->visible >= '0' && *h->visible <= '9')))
		return -ENOTUNIQ;
	if (*h->visible)
		held_restrict(&o, h->visible);
	if (o.count == 1)
		return o.at[0];
	/* If there are as many devices as processes on this node, each process uses the device with
	 * its local rank. */
	if (h->local_rank < 0 || (uint32_t)h->local_rank >= o.count ||
	    (uint32_t)h->local_size != o.count)
		return -ENOTUNIQ;
	return o.at[h->local_rank];
}
