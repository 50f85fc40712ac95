/* SPDX-License-Identifier: Apache-2.0 */
/* code_runs.h - remembers which device programs each process has run, so that the name of each
 * program is requested only once. The number of remembered programs of one process and the number
 * of requests in a second are limited. Pure; not thread-safe. */
#ifndef WATCH_CODE_RUNS_H
#define WATCH_CODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CODE_RUNS_MAX 2048 /* limit of remembered programs of all processes */
/* Limit of remembered programs of one process; beyond it, the program that ran longest ago is
 * forgotten. */
#define CODE_RUNS_OF	 256
#define CODE_RUNS_SECOND 200 /* limit of requests for names in a second */

struct code_runs {
	struct code_run {
		pid_t pid;
		uint64_t handle;
	} run[CODE_RUNS_MAX]; /* the latest first */
	size_t count;
	uint64_t second_ns; /* start of the second in which `asked` requests were made */
	uint32_t asked;
};

/* Call when a program runs. Returns true if its name has to be requested, because it runs for the
 * first time. */
bool code_runs_new(struct code_runs *rs, pid_t pid, uint64_t handle, uint64_t now_ns);
/* Call when another program gets this handle: forgets the earlier program. */
void code_runs_forget(struct code_runs *rs, pid_t pid, uint64_t handle);
/* Call when the process has ended or has executed another file: forgets its programs. */
void code_runs_gone(struct code_runs *rs, pid_t pid);

#endif
