/* SPDX-License-Identifier: Apache-2.0 */
/* marker.h - from one process's records to signals: ranges are paired, names classified, backward
 * passes told outer from nested.
 *
 * Pure and deterministic; a KiB as a rule, under 1.9 MiB whatever the process does. A begin whose
 * end was lost is closed by the next record that proves it ended; what comes of it is tainted.
 */
#ifndef MODEL_MARKER_H
#define MODEL_MARKER_H

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/signal.h"

#define MARKER_THREADS	256  /* followed at once; the one idle longest gives way */
#define MARKER_NAMES	256  /* optimizer classes told apart; further ones share the last number */
#define MARKER_PROGRAMS 256  /* compiled programs known at once; the one idle longest gives way */
#define MARKER_PENDING	1024 /* executions whose completion is waited for; the oldest gives way */

struct marker;
struct marker *marker_new(void); /* NULL: no memory */
void marker_free(struct marker *m);

typedef void signal_fn(void *ctx, const struct signal *s); /* s is valid during the call only */

/* probe: what the event's probe hash means, NULL when it has none. All events are of one process,
 * in order of time; ticks and losses of the whole host are given too. Returns how many signals it
 * made. */
int marker_feed(struct marker *m, const struct event *ev, const struct gp_probe *probe,
		signal_fn *emit, void *ctx);
/* A call that makes a device or a communicator ready, and did not: there may be none. */
bool marker_init_failed(const struct event *ev, const struct gp_probe *probe);
/* A call of a device's runtime that returned an error: what it waits for or runs is not done. */
bool marker_call_failed(const struct event *ev, const struct gp_probe *probe);
/* Nobody told, until now, which buffers the host wrote to: what lies in one is no known output. */
void marker_buffers_unseen(struct marker *m);
void marker_archive(struct archive *a, struct marker **m);

#endif
