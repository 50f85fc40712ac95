/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call.h - why a thread does not get on, from /proc: its state, the system call it is in
 * and on which file, what it sleeps in in the kernel; what its children are at, when it may be
 * waiting for one of them.
 *
 * For processes that have fallen silent, once a second. Nothing is opened that the process could
 * choose, only links are read: a file on a dead server or a FIFO blocks nobody here. Bounded in
 * files (4 of a thread, 16 children, 64 names of threads), bytes, and time. What cannot be told is
 * GP_WHY_unknown. */
#ifndef IDENTITY_BLOCKED_CALL_H
#define IDENTITY_BLOCKED_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct blocked_calls; /* how much each process had run when it was looked at last */
struct blocked_calls *blocked_calls_new(void); /* NULL: no memory */
void blocked_calls_free(struct blocked_calls *s);

/* root as in process.h. tid: the thread that should get on; the first one when it is gone. Fills
 * *ret but for since_ns; where is what the thread does, as in "thread 7 reads /data/x", printable.
 * Returns the thread that was looked at, or -ESRCH, -EACCES. */
pid_t blocked_calls_scan(struct blocked_calls *s, const char *root, pid_t pid, pid_t tid,
			 uint64_t now_ns, struct gp_blocked *ret);

/* What a system call that blocks waits for. */
enum syscall_kind {
	SYSCALL_OTHER,
	SYSCALL_READ,	/* arg 0: descriptor */
	SYSCALL_WRITE,	/* arg 0: descriptor */
	SYSCALL_SOCKET, /* arg 0: descriptor */
	SYSCALL_IOCTL,	/* arg 0: descriptor */
	SYSCALL_FLOCK,	/* arg 0: descriptor */
	SYSCALL_FILE,	/* some path */
	SYSCALL_OPEN,
	SYSCALL_FUTEX,
	SYSCALL_POLL,
	SYSCALL_EVENTS,
	SYSCALL_CHILD,
	SYSCALL_SLEEP,
	SYSCALL_RESTART, /* one of these that a signal interrupted, with its arguments gone */
};

/* number: of the architecture that this was built for. *ret_name NULL: not known to block. */
enum syscall_kind syscall_kind(long number, const char **ret_name);

#endif
