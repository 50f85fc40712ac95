/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - runs system calls that may never return in a helper process. Example: reading the
 * mappings, command line or environment of a process whose mmap lock is held (by a thread that
 * waits for a page which never comes) blocks the reader. The caller waits for an answer for a
 * limited time only. A helper process that exceeds its time is killed. One that cannot be killed is
 * abandoned; there may be 4 of those, after that every call fails. Not thread-safe. */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_ARG_MAX 2048
#define HELPER_KEPT_FD 4 /* number of the kept descriptor in the helper process */

struct helper;

/* A function that the helper process runs. It sees the caller's memory as of the fork, so all input
 * is in arg. Returns the bytes written to ret, at most cap, or -errno. */
typedef ssize_t helper_fn(const void *arg, void *ret, size_t cap);

/* cap: maximum size of an answer in bytes. The first call starts the helper process. Returns 0 or
 * -ENOMEM. */
int helper_new(struct helper **ret, size_t cap);
/* Kills the helper process without waiting for its end. a may be NULL. */
void helper_free(struct helper *a);
/* Sets the one descriptor that the helper process inherits; borrowed. Call before the first
 * helper_call(). */
void helper_keep(struct helper *a, int fd);

/* Returns the size of the answer, or -errno of the function; -ETIMEDOUT: no answer in time; -EBUSY:
 * too many helper processes could not be killed. *ret is valid until the next call. Waits at most
 * 0.2 s, or a quarter of that when most of the last seconds were spent waiting; up to 2 s while the
 * helper process is only waiting for a CPU. */
ssize_t helper_call(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len,
		    const void **ret);
/* Sends a request without waiting for its answer, which helper_answer() takes. Returns 0 or -errno
 * like helper_call(). Until then no other request may be sent. */
int helper_ask(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len);
/* Waits up to wait_ms for the answer. Returns -EAGAIN if it has not arrived; otherwise like
 * helper_call(). */
ssize_t helper_answer(struct helper *a, int wait_ms, const void **ret);
/* Like helper_answer(), but signals do not shorten the wait. */
ssize_t helper_await(struct helper *a, int wait_ms, const void **ret);
/* Runs fn once, in a process forked for this call: fn sees the present memory, so arg may contain
 * pointers. The answer is written to ret. Waits up to wait_ms, then returns -ETIMEDOUT; otherwise
 * bytes or -errno, like helper_call(). */
ssize_t helper_once(helper_fn *fn, const void *arg, size_t arg_len, void *ret, size_t cap,
		    int wait_ms);
/* Gives up the pending request, and kills the helper process. */
void helper_drop(struct helper *a);
/* Returns the CPU time that calls have used in helper processes. */
uint64_t helper_cpu_ns(const struct helper *a);

/* Helper processes that call helper_settle() from now on keep only the capabilities to read other
 * processes and to write exports. calls: they also cannot start, signal or reach other processes,
 * where the kernel can deny system calls. */
void helper_confine(bool calls);
/* For a process just forked that will serve its parent over *fd. Closes everything else inherited
 * from the parent, because a process that cannot be killed would keep links, files and pipes open
 * after the parent's end. Ignores the terminal's signals and ends with the parent. *fd is moved;
 * keep, unless it is -1, becomes HELPER_KEPT_FD. caps: capabilities (CONFINE_CAP()) that the
 * process keeps in addition to those for reading. */
int helper_settle(const char *name, int *fd, int keep, uint64_t caps);

#endif
