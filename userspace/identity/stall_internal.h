/* SPDX-License-Identifier: Apache-2.0 */
/* stall_internal.h - one look at a thread (stall.c) and at what is near it (stall_near.c). */
#ifndef IDENTITY_STALL_INTERNAL_H
#define IDENTITY_STALL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/identity/stall.h"

struct look {
	const char *root;
	pid_t pid, tid;
	uint64_t deadline_ns;
	uint64_t thread_ticks;
	uint64_t arg[6];
	struct gp_blocked *out;
};

bool look_late(const struct look *l);
int look_stat(struct look *l);	 /* its state; 0 or -errno */
void look_state(struct look *l); /* what that state means */
/* A symbol or a thread's name, cut where it is none. */
void look_symbol(char *out, size_t cap, const char *text);
/* Adds who it may be waiting for: threads of a library of collectives, a child that is stuck
 * itself. */
void look_near(struct look *l);

#endif
