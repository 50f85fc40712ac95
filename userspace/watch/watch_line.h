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

/* A helper_fn: reads a struct line_request and writes a struct line_reply. Takes length_us; at most
 * 0.8 % of this is CPU time, except for finding CPython in a process that was not read before. */
ssize_t watch_line_there(const void *arg, void *ret, size_t cap);

#endif
