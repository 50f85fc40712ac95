/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - reports the state of the service to a service manager by the protocol of sd_notify(3):
 * datagrams to the socket named by NOTIFY_SOCKET. Without that variable all functions do nothing.
 * Never blocks. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

struct notify;

/* Connects to the service manager named by NOTIFY_SOCKET. Removes that variable from the
 * environment, so that child processes cannot report in our name; also reads WATCHDOG_USEC and
 * WATCHDOG_PID. *ret is NULL if there is no service manager. Returns 0, or -errno after logging the
 * reason. */
int notify_open(struct notify **ret);
void notify_close(struct notify *n); /* n may be NULL here and below */
/* Sends a message such as "READY=1". Several lines are separated by newlines. */
void notify_send(struct notify *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the interval (ns) for keep-alive messages: half of the service manager's limit. 0: the
 * service manager expects no such messages. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
