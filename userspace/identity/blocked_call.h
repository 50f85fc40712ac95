/* SPDX-License-Identifier: Apache-2.0 */
/* blocked_call.h - finds out from /proc why a thread makes no progress: its state, the system call
 * it is in, the file of this call, and where it sleeps in the kernel. Also the state of child
 * processes that it may be waiting for.
 *
 * Called once a second for silent processes. Only links are read, and no file is opened that the
 * process could choose, so a file on a dead server or a FIFO cannot block the caller. Files (4 of a
 * thread, 16 children, 64 names of threads), bytes and time are limited. If the reason cannot be
 * found, it is GP_WHY_unknown. */
#ifndef IDENTITY_BLOCKED_CALL_H
#define IDENTITY_BLOCKED_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

/* Words from the probe files that explain blocked calls; each list ends with NULL. */
struct blocked_words {
	/* Parts of names of threads that show that the process takes part in collectives. */
	const char *const *threads;
	const char *const *devices; /* beginnings of paths of device files */
};
struct blocked_calls; /* remembers the CPU time of each process at its last scan */
/* words: its lists must outlive the result. Returns NULL if there is no memory. */
struct blocked_calls *blocked_calls_new(const struct blocked_words *words);
void blocked_calls_free(struct blocked_calls *s);

/* Finds out why a thread is blocked. root: "", or the folder that contains proc. tid: the thread
 * that should make progress; if it has ended, the first thread is scanned. Fills *ret except
 * since_ns; ret->where is a printable description such as "thread 7 reads /data/x". Returns the
 * thread that was scanned, or -ESRCH, -EACCES. */
pid_t blocked_calls_scan(struct blocked_calls *s, const char *root, pid_t pid, pid_t tid,
			 uint64_t now_ns, struct gp_blocked *ret);

/* Kind of event that a blocking system call waits for */
enum syscall_kind {
	SYSCALL_OTHER,
	SYSCALL_READ,	/* arg 0: descriptor */
	SYSCALL_WRITE,	/* arg 0: descriptor */
	SYSCALL_SOCKET, /* arg 0: descriptor */
	SYSCALL_IOCTL,	/* arg 0: descriptor */
	SYSCALL_FLOCK,	/* arg 0: descriptor */
	SYSCALL_FILE,	/* a file, by its path */
	SYSCALL_OPEN,
	SYSCALL_FUTEX,
	SYSCALL_POLL,
	SYSCALL_EVENTS,
	SYSCALL_CHILD,
	SYSCALL_SLEEP,
	/* An interrupted call that was resumed; its arguments are not known any more. */
	SYSCALL_RESTART,
};

/* Returns the kind of a system call of this architecture. *ret_name: its name; NULL: the call is
 * not known to block. */
enum syscall_kind syscall_kind(long number, const char **ret_name);

#endif
