/* SPDX-License-Identifier: Apache-2.0 */
/* watch_line.h - takes samples of the Python lines at which threads are. Runs in the helper process
 * of watch_stack.c, because reading another process may block. */
#ifndef WATCH_WATCH_LINE_H
#define WATCH_WATCH_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

#define LINE_PROCESSES 16 /* sampled at once */
#define LINE_ROUNDS    10 /* at most, in a request */

struct line_request {
	uint64_t seed;	    /* of the random instants */
	uint32_t length_us; /* time in which the samples are taken */
	uint32_t count;
	struct line_target {
		pid_t pid, tid;
		uint32_t span_us; /* for which one sample, or all samples of the rounds, stand */
		bool fast;	  /* in each of LINE_ROUNDS rounds; else once */
		bool stack;	  /* the whole stack too, once */
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

/* A helper_fn: request to reply. Takes length_us, and never more than 0.8 % of that on a CPU,
 * except to find CPython in a process that it has not seen before. */
ssize_t watch_line_there(const void *arg, void *ret, size_t cap);

#endif
