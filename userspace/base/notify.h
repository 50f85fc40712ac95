/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - reports the state of the service to a service manager by the protocol of sd_notify(3):
 * datagrams to the socket named by NOTIFY_SOCKET. Without that variable all functions do nothing.
 * Never blocks. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes NOTIFY_SOCKET from the
 * environment, so that a child cannot report in our name. *ret is NULL without a service manager.
 * Returns 0, or -errno after logging one line. */
int notify_open(struct notify **ret);
void notify_close(struct notify *n); /* n may be NULL here and below */
/* Sends "READY=1" and the like, separated by newlines. */
void notify_send(struct notify *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns how often the service manager expects a keep-alive (half of its limit); 0: not
 * expected. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
