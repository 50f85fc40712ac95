/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call_near.c - finds what a blocked process may wait for: blocked child processes, or
 * other ranks in a collective. */
#include "userspace/identity/blocked_call_private.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"

#define CHILDREN_MAX   16
#define CHILDREN_BYTES 1024
#define THREADS_MAX    64

static void blocked_call_near_add(struct blocked_scan *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void blocked_call_near_add(struct blocked_scan *l, const char *fmt, ...)
{
	size_t at = strnlen(l->out->where, sizeof(l->out->where) - 1);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->out->where + at, sizeof(l->out->where) - at, fmt, ap);
	va_end(ap);
}

/* Returns true if a child process is blocked. A child that reads a pipe is not: it waits for
 * work. */
static bool blocked_call_near_child_stuck(const struct gp_blocked *b)
{
	return b->why == GP_WHY_stopped || b->why == GP_WHY_io || b->why == GP_WHY_network ||
	       (b->why == GP_WHY_input && strcmp(b->where, "reads a pipe") != 0);
}

static void blocked_call_near_scan_children(struct blocked_scan *l, pid_t tid)
{
	char text[CHILDREN_BYTES], path[64], *at = text, *end;

	snprintf(path, sizeof(path), "task/%d/children", (int)tid);
	if (blocked_scan_late(l) || proc_slurp(l->root, l->pid, path, text, sizeof(text)) <= 0)
		return;
	for (int i = 0; i < CHILDREN_MAX; i++, at = end) {
		struct gp_blocked b = {0};
		struct blocked_scan child = {.root = l->root,
					     .words = l->words,
					     .deadline_ns = l->deadline_ns,
					     .out = &b};

		child.pid = child.tid = (pid_t)strtol(at, &end, 10);
		if (end == at || child.pid <= 0 || blocked_scan_stat(&child))
			return;
		blocked_scan_state(&child);
		if (!blocked_call_near_child_stuck(&b))
			continue;
		blocked_call_near_add(l, "; its child %d %s", (int)child.pid, b.where);
		return;
	}
}

/* Returns true for a thread of a communication library, which shows that the process takes part in
 * collectives. */
static bool blocked_call_near_takes_part(const struct blocked_scan *l, const char *comm)
{
	for (const char *const *part = l->words->threads; *part; part++)
		if (strstr(comm, *part))
			return true;
	return false;
}

static void blocked_call_near_scan_threads(struct blocked_scan *l)
{
	int fd = proc_open(l->root, l->pid, "task", O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char path[300], comm[64], first[64] = "";
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (int i = 0; i < THREADS_MAX && !blocked_scan_late(l) && (d = readdir(dir));) {
		if (!isdigit((unsigned char)*d->d_name))
			continue;
		i++;
		snprintf(path, sizeof(path), "task/%s/comm", d->d_name);
		if (proc_slurp(l->root, l->pid, path, comm, sizeof(comm)) <= 0 ||
		    !blocked_call_near_takes_part(l, comm))
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		if (!strcmp(comm, first))
			continue;
		blocked_scan_symbol(first, sizeof(first), comm);
		blocked_call_near_add(l, " beside %s", first);
		break;
	}
	closedir(dir);
}

void blocked_scan_near(struct blocked_scan *l)
{
	switch (l->out->why) {
	case GP_WHY_lock:
	case GP_WHY_network:
	case GP_WHY_idle:
	case GP_WHY_child:
	case GP_WHY_input:
		blocked_call_near_scan_threads(l);
		blocked_call_near_scan_children(l, l->tid);
		if (l->tid != l->pid)
			blocked_call_near_scan_children(l, l->pid);
		break;
	default:
		break;
	}
}
