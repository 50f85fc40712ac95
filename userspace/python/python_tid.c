/* SPDX-License-Identifier: Apache-2.0 */
/* python_tid.c - finds the ids of threads in our pid namespace: CPython stores those of the
 * process's own namespace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"
#include "userspace/base/table.h"
#include "userspace/python/python_private.h"

#define TASKS_MAX    4096
#define STATUS_BYTES 4096
/* Offset of tid in glibc's struct pthread (nptl): a head of 704 bytes (x86_64) or 192, and a list,
 * are before it. Used only if CPython does not store the thread's id. */
#ifdef __x86_64__
#define PTHREAD_TID 720
#else
#define PTHREAD_TID 208
#endif

/* Reads the id that a thread has in its innermost pid namespace; 0: the thread is in our namespace
 * only, or the id cannot be read. */
static pid_t python_task_inner(pid_t pid, const char *task)
{
	char name[64], text[STATUS_BYTES], *line, *last;

	snprintf(name, sizeof(name), "task/%s/status", task);
	if (proc_slurp("", pid, name, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = '\0';
	last = strrchr(line, '\t');
	return last && last != line ? (pid_t)strtol(last, NULL, 10) : 0;
}

/* Fills the table of thread ids; the table stays empty if the process has no pid namespace of its
 * own. */
static void python_tasks_read(struct python_process *p)
{
	int fd = proc_open("", p->pid, "task", O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (int i = 0; i < TASKS_MAX && (d = readdir(dir));) {
		int32_t outer = proc_number(d->d_name);
		pid_t inner = outer > 0 ? python_task_inner(p->pid, d->d_name) : 0;

		i += outer > 0;
		if (inner > 0)
			table_put(p->tids, (uint64_t)inner, (void *)(intptr_t)outer);
	}
	closedir(dir);
}

int python_tids_open(struct python_process *p)
{
	char task[16];

	snprintf(task, sizeof(task), "%d", (int)p->pid);
	if (!python_task_inner(p->pid, task))
		return 0;
	p->tids = table_new();
	return p->tids ? 0 : -ENOMEM;
}

void python_tids_free(struct python_process *p)
{
	table_free(p->tids, NULL);
	p->tids = NULL;
}

static bool python_task_runs(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return tid > 0 && !access(path, F_OK);
}

/* Converts the id of a thread in its own pid namespace to the id in ours. Returns 0 if no such
 * thread runs. */
static pid_t python_tid_outer(struct python_process *p, uint64_t inner)
{
	pid_t outer = 0;

	if (!inner || inner > INT32_MAX)
		return 0;
	if (!p->tids)
		return python_task_runs(p->pid, (pid_t)inner) ? (pid_t)inner : 0;
	for (int i = 0; i < 2; i++) {
		outer = (pid_t)(intptr_t)table_get(p->tids, inner);
		if (python_task_runs(p->pid, outer))
			return outer;
		if (!p->tids_fresh) /* read the table at most once for each dump */
			python_tasks_read(p);
		p->tids_fresh = true;
	}
	return 0;
}

void python_thread_identify(struct python_process *p, uint64_t state, struct python_thread *ret)
{
	const struct python_offsets *at = &p->at;
	uint64_t native = 0;
	uint32_t tid = 0;

	if (!python_read_one(p, state + at->thread_pthread, &ret->pthread, sizeof(ret->pthread)))
		return;
	if (!at->thread_native) {
		if (python_read_one(p, ret->pthread + PTHREAD_TID, &tid, sizeof(tid)))
			ret->tid = python_tid_outer(p, tid);
	} else if (python_read_one(p, state + at->thread_native, &native, sizeof(native))) {
		ret->tid = python_tid_outer(p, native);
	}
}
