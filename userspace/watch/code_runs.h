/* SPDX-License-Identifier: Apache-2.0 */
/* code_runs.h - which programs of which processes have run, so that the name of each is asked for
 * once. Bounded for each process, so that one with many programs hides no other's, and in questions
 * a second. Pure; not thread-safe. */
#ifndef WATCH_CODE_RUNS_H
#define WATCH_CODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CODE_RUNS_MAX	 2048 /* programs, of all processes */
#define CODE_RUNS_OF	 256  /* ... of one process; the one that ran longest ago is forgotten */
#define CODE_RUNS_SECOND 200  /* questions */

struct code_runs {
	struct code_run {
		pid_t pid;
		uint64_t handle;
	} run[CODE_RUNS_MAX]; /* the one that ran last is the first */
	size_t count;
	uint64_t second_ns; /* questions are counted since */
	uint32_t asked;
};

/* A program runs. Returns true if its name is to be asked for: it did not run before. */
bool code_runs_new(struct code_runs *rs, pid_t pid, uint64_t handle, uint64_t now_ns);
/* Another program gets its number. */
void code_runs_forget(struct code_runs *rs, pid_t pid, uint64_t handle);
/* The process has ended, or runs another program file. */
void code_runs_gone(struct code_runs *rs, pid_t pid);

#endif
