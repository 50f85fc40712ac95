/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.h - the files of /proc/PID, bounded. They are the process's to shape: what is read is
 * hostile. root: "" or where /proc is looked for (--root). */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_PATH_MAX 4096

/* -ESRCH for a process that is gone, -EACCES for one that is not ours to read, else -errno. */
int proc_error(int err);
/* A descriptor of /proc/PID/NAME, or as proc_error(). */
int proc_open(const char *root, pid_t pid, const char *name, int flags);
/* read(2), through signals. */
ssize_t proc_read(int fd, void *buf, size_t len);
/* The beginning of a file, at most cap - 1 bytes, NUL-terminated. Returns its bytes or -errno. */
ssize_t proc_slurp(const char *root, pid_t pid, const char *name, char *buf, size_t cap);

struct proc_stat {
	char comm[64]; /* escaped */
	uint32_t parent;
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint64_t ticks;	   /* of CPU time, user and system */
	char state;	   /* R S D T t Z X ... */
	bool exiting;	   /* it is on its way out, or a zombie: nothing of it runs any more */
};

int proc_stat(const char *root, pid_t pid, struct proc_stat *ret);
/* name: "stat" or "task/TID/stat". -EBADMSG: it is not one. */
int proc_stat_file(const char *root, pid_t pid, const char *name, struct proc_stat *ret);

/* The process that a thread is of; 0: unknown. */
pid_t proc_owner(const char *root, pid_t tid);

/* A whole decimal of 0 to INT32_MAX, else -1. */
int32_t proc_number(const char *text);

#endif
