/* SPDX-License-Identifier: Apache-2.0 */
/* watch_leave.h - a node that was told to end and to hand over: in Kubernetes the API server is
 * asked first, by a thread, whether anybody comes to take over; meanwhile all goes on. */
#ifndef WATCH_WATCH_LEAVE_H
#define WATCH_WATCH_LEAVE_H

#include "userspace/watch/watch_private.h"

/* Ends the watch, now or when it is answered; told again meanwhile, it ends and detaches. */
void watch_leave(struct watch *w);
void leave_free(struct leave *l); /* NULL is fine */

#endif
