/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - an event loop (epoll) for descriptors, timers and signals. Single-threaded. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

struct loop;
/* Called for an event. value: epoll events of a descriptor; number of expirations of a timer;
 * number of a signal, with its si_code in the upper 32 bits. */
typedef void loop_fn(void *ctx, uint64_t value);

int loop_new(struct loop **ret);
void loop_free(struct loop *l); /* closes only descriptors that the loop opened */
int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *ctx);
void loop_remove_fd(struct loop *l, int fd);
int loop_add_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* Changes the period of the timer that was added with fn and ctx. The new period starts now.
 * Returns 0 or -errno. */
int loop_set_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* Adds a signal. It is blocked from now on; a child must unblock it before exec. */
int loop_add_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);
/* Runs until loop_stop() is called. Returns the code given to it. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l, int code);

#endif
