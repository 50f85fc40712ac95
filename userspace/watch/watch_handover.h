/* SPDX-License-Identifier: Apache-2.0 */
/* watch_handover.h - ends the watch of a node, with handover: in Kubernetes a thread first asks the
 * API server whether a successor will come; watching continues meanwhile. */
#ifndef WATCH_WATCH_HANDOVER_H
#define WATCH_WATCH_HANDOVER_H

#include "userspace/watch/watch_private.h"

/* Ends the watch, now or when the answer is there. Called again before that, it ends at once and
 * detaches. */
void watch_hand_over(struct watch *w);
void handover_free(struct handover *l); /* NULL is fine */

#endif
