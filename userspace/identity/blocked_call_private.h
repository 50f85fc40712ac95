/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call_private.h - one scan of a thread (blocked_call.c), for the files that read its state
 * (blocked_call_state.c), and its children and sibling threads (blocked_call_near.c). */
#ifndef IDENTITY_BLOCKED_CALL_PRIVATE_H
#define IDENTITY_BLOCKED_CALL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/identity/blocked_call.h"

struct blocked_scan {
	const char *root;
	const struct blocked_words *words;
	pid_t pid, tid;
	uint64_t deadline_ns;
	uint64_t thread_ticks;
	uint64_t arg[6];
	struct gp_blocked *out;
};

bool blocked_scan_late(const struct blocked_scan *l);
/* Reads the state of the thread; returns 0 or -errno. */
int blocked_scan_stat(struct blocked_scan *l);
void blocked_scan_state(struct blocked_scan *l); /* interprets the state that was read */
/* Sets the reason (why) and the text that explains it (fmt...). */
void blocked_scan_explain(struct blocked_scan *l, enum gp_why why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Copies the beginning of text up to the first character that is not allowed in a symbol or the
 * name of a thread. */
void blocked_scan_symbol(char *out, size_t cap, const char *text);
/* Adds to the explanation what the thread may be waiting for: other ranks in a collective, or a
 * blocked child process. */
void blocked_scan_near(struct blocked_scan *l);

#endif
