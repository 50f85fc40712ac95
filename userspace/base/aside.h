/* SPDX-License-Identifier: Apache-2.0 */
/* aside.h - calls of the kernel that may never come back, made in a process of our own: a process
 * whose address space is locked (one of its threads waits for a page that never comes) holds up
 * whoever reads its mappings, its command line or its environment. The caller waits for an answer,
 * but not for long.
 *
 * A helper process that has used up its time is killed. One that not even that ends is left behind;
 * of those there may be 4, then nothing can be asked any more. Not thread-safe. */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ASIDE_ARG_MAX 2048
#define ASIDE_KEPT_FD 4 /* what aside_keep() named has this number there */

struct aside;

/* A function that the helper process runs. It sees a copy of the caller's memory from some time
 * ago, so all its input is in arg. Returns the bytes written to ret, at most cap, or -errno. */
typedef ssize_t aside_fn(const void *arg, void *ret, size_t cap);

/* cap: bytes of an answer, at most. The process is started by the first call. */
int aside_new(struct aside **ret, size_t cap);
/* Does not wait for what cannot be killed. NULL is fine. */
void aside_free(struct aside *a);
/* The one descriptor that the other process has from us; borrowed. To be told before the first
 * call. */
void aside_keep(struct aside *a, int fd);

/* Bytes of the answer, which is the module's until the next call, or -errno of the function;
 * -ETIMEDOUT: it does not come back; -EBUSY: too many have not. Waits 0.2 s at most, and a quarter
 * of that when most of the last seconds went into waiting; longer, 2 s at most, only while the
 * other process waits for nothing but a CPU. */
ssize_t aside_call(struct aside *a, aside_fn *fn, const void *arg, size_t arg_len,
		   const void **ret);
/* The same without waiting: 0, and the answer is asked for until it is there; nothing else may be
 * asked before that. As aside_call() else. */
int aside_ask(struct aside *a, aside_fn *fn, const void *arg, size_t arg_len);
/* Waits so long at most. -EAGAIN: not yet; else as aside_call(). */
ssize_t aside_answer(struct aside *a, int wait_ms, const void **ret);
/* The same, whatever signals come: all of wait_ms. */
ssize_t aside_await(struct aside *a, int wait_ms, const void **ret);
/* One call, in a process of its own that is started for it: fn sees the memory of now, so arg may
 * hold pointers. The answer goes to ret. Waits up to wait_ms: -ETIMEDOUT. Bytes or -errno, as
 * aside_call(). */
ssize_t aside_once(aside_fn *fn, const void *arg, size_t arg_len, void *ret, size_t cap,
		   int wait_ms);
/* What was asked has used up its time. */
void aside_drop(struct aside *a);
/* CPU time that calls have taken there. */
uint64_t aside_cpu_ns(const struct aside *a);

/* A helper process that aside_settle() settles from now on keeps no capability but to read, and,
 * where system calls can be denied, cannot start, signal or reach another process. */
void aside_confine(bool calls);
/* For a process just forked that is to serve its parent over *fd: leaves everything else behind
 * that the parent holds (it would outlive the parent in one that cannot be killed: links, files and
 * pipes that somebody waits for the end of), minds no signals of a terminal, and ends with the
 * parent. *fd is moved; keep, unless it is -1, becomes ASIDE_KEPT_FD. caps: capabilities
 * (CONFINE_CAP()) that it keeps besides. */
int aside_settle(const char *name, int *fd, int keep, uint64_t caps);

#endif
