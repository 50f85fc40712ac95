/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts the command (CMD) of `run` and `record`. CMD does not execute its first
 * instruction before gp-bpf watches it. */
#ifndef WATCH_CHILD_H
#define WATCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of CMD */
struct child {
	pid_t pid;
	int release_fd; /* writing a byte starts CMD; closing it without writing ends CMD */
	/* Read end of a pipe, on which the child reports why CMD could not be started. */
	int failed_fd;
	char **argv; /* as passed to child_spawn() */
	const char *output;
	char user[64]; /* the user that CMD runs as; "": the user that runs gp-bpf */
};

/* Ignores SIGPIPE and SIGXFSZ, so that a failed write returns an error instead of ending gp-bpf;
 * CMD gets the caller's dispositions. Call it once, at the beginning. */
void child_ignore(void);
/* Forks CMD, which waits for child_release(). CMD gets the caller's terminal, signal dispositions
 * and working directory; user (NULL: the caller of sudo, else the caller) decides its ids and,
 * under sudo, its environment. output: file for its standard output and error; NULL: unchanged.
 * Returns 0 or -errno; logs an unknown user and a failed fork. Call it before threads exist. */
int child_spawn(struct child *c, char **argv, const char *user, const char *output);
void child_release(struct child *c);
/* Returns true if CMD could not be started, after logging the reason. Call it after the child has
 * ended. */
bool child_failed(struct child *c);
/* Ends and reaps a child for which child_release() was not called. */
void child_abandon(struct child *c);

/* Returns the exit code of gp-bpf for status, the wait status of CMD (see wait(2)). */
int child_exit_code(int status);

#endif
