/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - starts the command of `run` and `record`: stops it before its first instruction until
 * it is watched. */
#ifndef WATCH_CHILD_H
#define WATCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of CMD */
struct child {
	pid_t pid;
	int release_fd; /* writing a byte starts CMD, closing ends it */
	int failed_fd;	/* reports why the program could not be started */
	char **argv;	/* as passed to child_spawn() */
	const char *output;
	char user[64]; /* the user to become; "": the caller */
};

/* Ignores SIGPIPE and SIGXFSZ, so that the failed write returns an error instead; CMD gets the
 * caller's dispositions. Call it once, at the beginning. */
void child_ignore(void);
/* Forks CMD, which waits for child_release(). CMD gets the caller's terminal, signal dispositions
 * and working directory; user (NULL: the caller of sudo, else the caller) decides its ids and,
 * under sudo, its environment. output: file for its standard output and error; NULL: unchanged.
 * Returns 0, or -errno after one line. Call it before threads exist. */
int child_spawn(struct child *c, char **argv, const char *user, const char *output);
void child_release(struct child *c);
/* Returns true if CMD could not be started, after logging the reason. Call it after the end of the
 * child. */
bool child_failed(struct child *c);
void child_abandon(struct child *c); /* ends and reaps a child that was never released */

/* Returns the exit code of gp-bpf for a status of wait(2). */
int child_exit_code(int status);

#endif
