/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/attach/mount.h"
#include "loader/kernel/tracepoint.h"

static long tracepoint_id_under(int root, const char *name)
{
	char path[128], text[32] = "";
	ssize_t len;
	long id;
	int fd;

	snprintf(path, sizeof(path), "events/%s/id", name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	id = len > 0 ? strtol(text, NULL, 10) : 0;
	return id > 0 ? id : -EBADMSG;
}

long tracepoint_id(const char *name)
{
	static const char *const mounted[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	/* Private mount of tracefs, kept open: the privilege to mount it may be dropped later */
	static int own = -1;
	long id = -ENOENT;
	int root;

	for (size_t i = 0; i < sizeof(mounted) / sizeof(mounted[0]) && id < 0; i++) {
		root = open(mounted[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (root < 0)
			continue;
		id = tracepoint_id_under(root, name);
		close(root);
	}
	if (id > 0)
		return id;
	if (own < 0)
		own = mount_detached("tracefs");
	return own < 0 ? own : tracepoint_id_under(own, name);
}

int tracepoint_open(const char *name)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	long id = tracepoint_id(name);
	int fd;

	if (id < 0)
		return (int)id;
	attr.config = (uint64_t)id;
	attr.sample_period = 1;
	/* A BPF program on a tracepoint runs on all CPUs, whichever CPU the event names. */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
