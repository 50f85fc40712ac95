/* SPDX-License-Identifier: Apache-2.0 */
/* track.h - intervals, order and spacing of each series: what is remembered of its points, so that
 * the next one is one that the service takes. */
#ifndef EXPORT_TRACK_H
#define EXPORT_TRACK_H

#include "userspace/export/gcm/sender.h"

#define NS_PER_MS 1000000ll
#define NS_PER_S  1000000000ll

#define TRACKS_MAX	(4 * SERIES_SET_MAX)
#define TRACKS_AHEAD_NS (300 * NS_PER_S) /* of the time: the service takes no later end */

struct tracks;
struct tracks *tracks_new(uint32_t spacing_ms);
void tracks_free(struct tracks *t);
enum track_verdict {
	TRACK_FIT,
	TRACK_SOON,  /* less than the spacing after the last */
	TRACK_PAST,  /* not after the last: the clock was set back */
	TRACK_UNFIT, /* refused by itself a while ago */
	TRACK_ROOM,  /* a while ago the service had no room for another series */
};
/* Whether the point may be next of its series, and with which interval: p's is set. Nothing is
 * remembered until tracks_note(). last: of what comes too soon the end is moved to when it is due.
 * What was noted under a clock that has been set back by more than TRACKS_AHEAD_NS since is
 * forgotten: the service took none of it. */
enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last);
void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t set_start_ns, uint64_t key, uint64_t now_ms);
/* The service has a later end than the start that we know: the next point starts anew. */
void tracks_restart(struct tracks *t, uint64_t key);
/* The service takes no point of it, for a reason that is its own: that is the verdict for
 * TRACKS_REFUSED_MS. */
#define TRACKS_REFUSED_MS (10 * 60 * 1000)
void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms);
/* When its points went out last, on the monotonic clock; 0: not at all. */
uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key);
void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms);
/* End of its last point, UTC; 0: there was none. */
int64_t tracks_end_ns(const struct tracks *t, uint64_t key);
/* For the file: one after the other, from *at = 0 on; false: no more. Later ones have newer
 * points. */
struct track_record {
	uint64_t key;
	int64_t set_start_ns, start_ns, end_ns; /* UTC */
	double value;
};
bool tracks_next(const struct tracks *t, size_t *at, struct track_record *ret);
/* As if tracks_note() had been told of it. 0 or -ENOMEM, -ENOSPC. */
int tracks_put(struct tracks *t, const struct track_record *r, uint64_t now_ms);
/* Whether a series came, or a start moved, since this was asked last. */
bool tracks_moved(struct tracks *t);
/* Forgets those without a point for SENDER_KEEP_S, sooner where there are more than a set holds;
 * gauges after a minute: a later point of theirs has nothing to go on with. */
void tracks_prune(struct tracks *t, uint64_t now_ms);

/* In the spool's folder, so that what was started stays so when this process ends: 40 bytes a
 * series, TRACKS_MAX of them. 0 or -errno; what was there stays where writing fails. */
int tracks_save(const struct tracks *t, int folder);
/* What was saved and can still be so at now_ns (UTC); a file that is damaged, of another form or
 * not ours alone is an error, and nothing is taken of it. None is none. */
int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms);

#endif
