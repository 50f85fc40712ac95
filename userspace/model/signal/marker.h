/* SPDX-License-Identifier: Apache-2.0 */
/* marker.h - turns the records of one process into signals (signal.h).
 *
 * The marker pairs begins with ends of ranges, classifies names, and separates outermost backward
 * passes from nested ones. If the end of a range was lost, the range is closed by the next record
 * which shows that it has ended, and its signal is flagged as tainted.
 *
 * The results depend on the records only. Memory: usually 1 KiB, at most 1.9 MiB. */
#ifndef MODEL_MARKER_H
#define MODEL_MARKER_H

#include "userspace/base/archive.h"
#include "userspace/ingest/event.h"
#include "userspace/model/signal/signal.h"

/* Limits of one marker. A further thread or program replaces the one that was idle longest. A
 * further execution replaces the oldest. Further optimizer classes share the last number. */
#define MARKER_THREADS	256
#define MARKER_NAMES	256
#define MARKER_PROGRAMS 256
#define MARKER_PENDING	1024 /* limit of executions that the device has not completed */

struct marker;
struct marker *marker_new(void); /* NULL: no memory */
void marker_free(struct marker *m);

/* Maximum number of signals per call. An event gives up to 2 signals and one for each range that it
 * closes. If these are more than MARKER_SIGNALS, the next call returns the rest (see `more`). */
#define MARKER_SIGNALS 8
/* The signals of one event, in order. Their texts are valid until the next call for the same
 * marker. */
struct marker_signals {
	struct signal signal[MARKER_SIGNALS];
	uint32_t count;
	/* the event gives further signals: call marker_feed() with the same event again */
	bool more;
	char text[GP_PATH_MAX]; /* text of a signal, if the marker does not keep it elsewhere */
};

/* Turns an event into signals, or none.
 *
 * ev: an event of this process, or a tick or loss that concerns the whole host. Events must come in
 * order of time. probe: definition of the event's probe, or NULL. While ret->more is set, the same
 * event must be given again. */
void marker_feed(struct marker *m, const struct event *ev, const struct gp_probe *probe,
		 struct marker_signals *ret);
/* Returns true if a call that makes a device or communicator failed. The device may not exist, so
 * this is not a fault. */
bool marker_init_failed(const struct event *ev, const struct gp_probe *probe);
/* Returns true if a call of a device runtime returned an error, so that the work it starts or waits
 * for is not done. */
bool marker_call_failed(const struct event *ev, const struct gp_probe *probe);
/* Forgets which buffers hold outputs of programs. Call it while the probe is missing that shows
 * when the host writes to buffers. */
void marker_buffers_unseen(struct marker *m);
/* Saves or restores *m. */
void marker_archive(struct archive *a, struct marker **m);

#endif
