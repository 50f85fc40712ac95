/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file.h - reads files of /proc/PID, of limited size. Their content is not trusted, because
 * the process chooses parts of it. root: "", or the folder that contains proc (--root). */
#ifndef BASE_PROC_FILE_H
#define BASE_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_PATH_MAX 4096

/* Converts an errno to -errno. All errors that mean that the process has ended become -ESRCH,
 * missing permissions -EACCES. */
int proc_error(int err);
/* Opens /proc/PID/NAME. Returns a descriptor, or -errno as proc_error() does. */
int proc_open(const char *root, pid_t pid, const char *name, int flags);
/* Reads like read(2), and repeats it when a signal interrupted it. */
ssize_t proc_read(int fd, void *buf, size_t len);
/* Reads the file, at most its first cap - 1 bytes, and appends NUL. Returns the number of bytes or
 * -errno. */
ssize_t proc_slurp(const char *root, pid_t pid, const char *name, char *buf, size_t cap);

/* The used fields of /proc/PID/stat */
struct proc_stat {
	char comm[64]; /* escaped */
	uint32_t parent;
	uint64_t start_ns; /* start of the process, CLOCK_BOOTTIME */
	uint64_t ticks;	   /* CPU time, user and system, in clock ticks */
	char state;	   /* R S D T t Z X ... */
	bool exiting;	   /* the process exits or is a zombie: it executes no code any more */
};

int proc_stat(const char *root, pid_t pid, struct proc_stat *ret);
/* Reads a file of the format of /proc/PID/stat. name: "stat" or "task/TID/stat". Returns 0 or
 * -errno; -EBADMSG: malformed. */
int proc_stat_file(const char *root, pid_t pid, const char *name, struct proc_stat *ret);

/* Returns the pid of the process that thread tid belongs to; 0: unknown. */
pid_t proc_owner(const char *root, pid_t tid);

/* Converts text to a number: decimal digits only, 0 to INT32_MAX. Returns -1 for any other text. */
int32_t proc_number(const char *text);

#endif
