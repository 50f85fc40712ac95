/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - one epoll loop: descriptors, timers, signals. Single-threaded. */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

struct loop;
typedef void loop_fn(void *ctx, uint64_t value); /* fd: epoll events; timer: expirations;
						  * signal: number, si_code in the high half */

int loop_new(struct loop **ret);
void loop_free(struct loop *l); /* closes what the loop itself opened */
int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *ctx);
void loop_remove_fd(struct loop *l, int fd);
int loop_add_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* The timer of fn and ctx comes next after a period of now, and then with this one. 0 or -errno. */
int loop_set_timer(struct loop *l, uint64_t period_ns, loop_fn *fn, void *ctx);
/* One signalfd for all; the signals are blocked here and must be unblocked in a child before
 * exec. */
int loop_add_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);
/* Until loop_stop(); returns its code. */
int loop_run(struct loop *l);
void loop_stop(struct loop *l, int code);

#endif
