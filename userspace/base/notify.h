/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - tells a service manager how it goes, by the protocol of sd_notify(3): datagrams to the
 * socket that NOTIFY_SOCKET names. Without one everything here does nothing. Never waits. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes the first out of the environment:
 * a child shall not speak for us. *ret NULL, 0: nobody wants to know. -errno after one line. */
int notify_open(struct notify **ret);
void notify_close(struct notify *n); /* NULL is fine, as in all that follow */
/* "READY=1" and so on, lines separated by newlines. */
void notify_send(struct notify *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How often a word of life is wanted (half of what is allowed); 0: not at all. */
uint64_t notify_watchdog_ns(const struct notify *n);

#endif
