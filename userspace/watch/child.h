/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - the command that `run` and `record` start: held back before its first instruction until
 * it is watched, then left alone. */
#ifndef WATCH_CHILD_H
#define WATCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int release_fd; /* one byte lets it go, closing it ends it */
	int failed_fd;	/* says why the program could not be started */
	char **argv;	/* as child_spawn() got them */
	const char *output;
	char user[64]; /* that it becomes; "": the caller */
};

/* Once, at the beginning: signals whose errors we tell instead are ignored, and CMD gets them as
 * they were. */
void child_ignore(void);
/* Forks. CMD gets the caller's terminal, signal dispositions and working directory; user (NULL: who
 * called sudo, else the caller) decides its ids and, under sudo, its environment. output: where its
 * standard output and error go, NULL: unchanged. 0 or -errno after one line. Call it before threads
 * exist. */
int child_spawn(struct child *c, char **argv, const char *user, const char *output);
void child_release(struct child *c);
/* After it ended: it never became CMD. One line says why. */
bool child_failed(struct child *c);
void child_abandon(struct child *c); /* never started: reaps it */

/* What gp-bpf's own exit code is for a status of wait(2). */
int child_exit_code(int status);

#endif
