/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.h - reads files of /proc/PID, bounded in size. Their content is hostile, because the
 * process chooses it. root: "", or the folder that contains proc (--root). */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_PATH_MAX 4096

/* Maps an errno to -ESRCH (the process is gone), -EACCES (we may not read it) or -errno. */
int proc_error(int err);
/* Opens /proc/PID/NAME. Returns a descriptor or -errno as proc_error(). */
int proc_open(const char *root, pid_t pid, const char *name, int flags);
/* Like read(2), repeated after signals. */
ssize_t proc_read(int fd, void *buf, size_t len);
/* Reads at most the first cap - 1 bytes, and terminates them with NUL. Returns the bytes read or
 * -errno. */
ssize_t proc_slurp(const char *root, pid_t pid, const char *name, char *buf, size_t cap);

struct proc_stat {
	char comm[64]; /* escaped */
	uint32_t parent;
	uint64_t start_ns; /* on CLOCK_BOOTTIME */
	uint64_t ticks;	   /* CPU time, user and system, in clock ticks */
	char state;	   /* R S D T t Z X ... */
	bool exiting;	   /* exiting, or a zombie: none of its code runs any more */
};

int proc_stat(const char *root, pid_t pid, struct proc_stat *ret);
/* name: "stat" or "task/TID/stat". Returns 0 or -errno; -EBADMSG: malformed. */
int proc_stat_file(const char *root, pid_t pid, const char *name, struct proc_stat *ret);

/* Returns the process that a thread belongs to; 0: unknown. */
pid_t proc_owner(const char *root, pid_t tid);

/* Parses a decimal number of 0 to INT32_MAX that is all of text; otherwise returns -1. */
int32_t proc_number(const char *text);

#endif
