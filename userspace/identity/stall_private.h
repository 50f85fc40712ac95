/* SPDX-License-Identifier: Apache-2.0 */
/* stall_private.h - one look at a thread (stall.c): its state (stall_state.c) and what is near it
 * (stall_near.c). */
#ifndef IDENTITY_STALL_PRIVATE_H
#define IDENTITY_STALL_PRIVATE_H

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
/* Sets why the thread does not get on, and the text that explains it. */
void look_say(struct look *l, enum gp_why why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A symbol or a thread's name, cut where it is none. */
void look_symbol(char *out, size_t cap, const char *text);
/* Adds who it may be waiting for: threads of a library of collectives, a child that is stuck
 * itself. */
void look_near(struct look *l);

#endif
