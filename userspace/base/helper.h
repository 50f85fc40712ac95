/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - runs system calls that may never return, in a helper process. Example: reading the
 * mappings, command line or environment of a process whose mmap lock is held (by a thread that
 * waits for a page which never comes) blocks the reader. The caller waits for an answer for a
 * limited time only; then the helper process is killed. A helper process that cannot be killed is
 * abandoned. While there are 4 abandoned ones, every call fails. Not thread-safe. */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_ARG_MAX 2048
/* number in the helper process of the descriptor that helper_keep() passes to it */
#define HELPER_KEPT_FD 4

struct helper;

/* A function that runs in the helper process. It sees the caller's memory as it was at the fork, so
 * all input must be in arg. Returns the number of bytes written to ret, at most cap, or -errno. */
typedef ssize_t helper_fn(const void *arg, void *ret, size_t cap);

/* Creates the caller's side; the first call starts the helper process. cap: maximum size of an
 * answer in bytes. Returns 0 or -ENOMEM. */
int helper_new(struct helper **ret, size_t cap);
/* Kills the helper process without waiting for its end, and frees a, which may be NULL. */
void helper_free(struct helper *a);
/* Passes a descriptor to the helper process, which inherits no other; the caller still owns it.
 * Call before the first helper_call(). */
void helper_keep(struct helper *a, int fd);

/* Runs fn in the helper process. Returns the size of the answer, or -errno of fn; -ETIMEDOUT: no
 * answer in time; -EBUSY: too many helper processes could not be killed. *ret is valid until the
 * next call. Waits at most 0.2 s, or a quarter of that if most of the last seconds were spent
 * waiting; up to 2 s while the helper process only waits for a CPU. */
ssize_t helper_call(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len,
		    const void **ret);
/* Sends a request as helper_call() does, but does not wait for the answer. Get the answer with
 * helper_answer() before the next request. Returns 0 or -errno. */
int helper_ask(struct helper *a, helper_fn *fn, const void *arg, size_t arg_len);
/* Waits up to wait_ms for the answer to helper_ask(). Returns -EAGAIN if it has not arrived;
 * otherwise as helper_call(). */
ssize_t helper_answer(struct helper *a, int wait_ms, const void **ret);
/* Does the same as helper_answer(), but a signal does not end the wait early. */
ssize_t helper_await(struct helper *a, int wait_ms, const void **ret);
/* Runs fn once, in a new process that is forked for this call: so fn sees the present memory, and
 * arg may contain pointers. Writes the answer to ret. Returns its size, or -errno; -ETIMEDOUT: no
 * answer within wait_ms. */
ssize_t helper_once(helper_fn *fn, const void *arg, size_t arg_len, void *ret, size_t cap,
		    int wait_ms);
/* Gives up a request that has no answer yet, by killing the helper process. */
void helper_drop(struct helper *a);
/* Returns the total CPU time (ns) that calls have used in helper processes. */
uint64_t helper_cpu_ns(const struct helper *a);

/* Limits the privileges of helper processes that are started later: they keep only the capabilities
 * to read other processes and to write exports. calls: they also cannot start, signal or reach
 * other processes, if the kernel can deny system calls. */
void helper_confine(bool calls);
/* Prepares a newly forked process to serve its parent over *fd. Closes everything else that it
 * inherited, because a process that cannot be killed would keep files and pipes open after the
 * parent's end. Ignores signals of the terminal, and ends with the parent. *fd gets a new number;
 * keep (-1: none) becomes HELPER_KEPT_FD. caps: capabilities (CONFINE_CAP()) to keep in addition to
 * those for reading. */
int helper_settle(const char *name, int *fd, int keep, uint64_t caps);

#endif
