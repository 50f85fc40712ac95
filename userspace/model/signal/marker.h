/* SPDX-License-Identifier: Apache-2.0 */
/* marker.h - turns the records of one process into signals (signal.h).
 *
 * The marker pairs begins with ends of ranges, classifies names, and separates outermost backward
 * passes from nested ones. A range whose end was lost is closed by the next record that proves its
 * end; signals of such a range are tainted.
 *
 * Pure and deterministic. Memory: about 1 KiB as a rule, under 1.9 MiB whatever the process
 * does. */
#ifndef MODEL_MARKER_H
#define MODEL_MARKER_H

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/signal/signal.h"

/* Upper bounds of one marker. When one is reached, the thread or program idle longest is replaced,
 * the oldest execution is dropped, and further optimizer classes share the last number. */
#define MARKER_THREADS	256
#define MARKER_NAMES	256
#define MARKER_PROGRAMS 256
#define MARKER_PENDING	1024 /* executions whose completion is awaited */

struct marker;
struct marker *marker_new(void); /* NULL: no memory */
void marker_free(struct marker *m);

/* Signals of one event, in order. Their texts are valid until the marker gets its next call. */
/* an event gives at most 2 signals, and one for each range that it closes */
#define MARKER_SIGNALS 8
struct marker_signals {
	struct signal signal[MARKER_SIGNALS];
	uint32_t count;
	bool more;		/* the event gives further signals: feed it again */
	char text[GP_PATH_MAX]; /* text that the marker does not keep */
};

/* Turns an event into zero or more signals.
 *
 * ev: an event of this process, in order of time; ticks and losses of the whole host are passed
 * too. probe: definition of the event's probe hash, NULL when it has none. While ret->more, feed
 * the same event again, before any other. */
void marker_feed(struct marker *m, const struct event *ev, const struct gp_probe *probe,
		 struct marker_signals *ret);
/* Returns true for a call that should have made a device or communicator ready and failed: such a
 * device may not exist. */
bool marker_init_failed(const struct event *ev, const struct gp_probe *probe);
/* Returns true for a call of a device runtime that returned an error: the work that it waits for or
 * starts is not done. */
bool marker_call_failed(const struct event *ev, const struct gp_probe *probe);
/* Forgets which buffers hold outputs of programs, because the probe that sees the host write to
 * buffers was missing until now. */
void marker_buffers_unseen(struct marker *m);
/* Saves or restores *m. */
void marker_archive(struct archive *a, struct marker **m);

#endif
