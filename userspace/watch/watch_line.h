/* SPDX-License-Identifier: Apache-2.0 */
/* watch_line.h - takes samples of the Python line that each thread executes. Runs in the helper
 * process of watch_stack.c, because reading another process may block. */
#ifndef WATCH_WATCH_LINE_H
#define WATCH_WATCH_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

#define LINE_PROCESSES 16 /* number of processes that are sampled at the same time */
#define LINE_ROUNDS    10 /* limit of samples that one request takes of a process */

struct line_request {
	uint64_t seed;	    /* seed for the random instants at which samples are taken */
	uint32_t length_us; /* time over which the samples are spread */
	uint32_t count;
	struct line_target {
		pid_t pid, tid;
		/* Time that all samples of this process in this request represent. */
		uint32_t span_us;
		bool fast;  /* take LINE_ROUNDS samples; false: one sample */
		bool stack; /* also read the whole stack, once */
	} of[LINE_PROCESSES];
};

struct line_reply {
	uint32_t nlines, nstacks;
	struct line_sample {
		uint32_t pid, tid;
		struct gp_line line;
	} line[LINE_PROCESSES * LINE_ROUNDS];
	struct line_stack {
		uint32_t pid, tid;
		struct gp_stack stack;
	} stack[LINE_PROCESSES];
};

/* A helper_fn: takes the samples that a struct line_request asks for, and writes them to a struct
 * line_reply. Runs for length_us, or until it has used a CPU for 0.8 % of that time. It may take
 * longer to find CPython in a process that it reads for the first time. */
ssize_t watch_line_there(const void *arg, void *ret, size_t cap);

#endif
