/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - an epoll loop for descriptors, timers and signals. Single-threaded. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

struct loop;
typedef void loop_fn(void *ctx, uint64_t value); /* fd: epoll events; timer: expirations; signal:
						    number, si_code in the upper half */

int loop_new(struct loop **ret);
void loop_free(struct loop *l); /* closes only descriptors that the loop opened */
int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *ctx);
void loop_remove_fd(struct loop *l, int fd);
int loop_add_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* Restarts the timer of fn and ctx with this period, from now. Returns 0 or -errno. */
int loop_set_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* One signalfd serves all signals. They are blocked here; a child must unblock them before exec. */
int loop_add_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);
/* Runs until loop_stop(); returns its code. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l, int code);

#endif
