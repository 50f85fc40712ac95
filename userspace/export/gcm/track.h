/* SPDX-License-Identifier: Apache-2.0 */
/* track.h - intervals, order and spacing of each series: remembers its last point, so that the next
 * one is acceptable to the service. Not thread-safe. */
#ifndef EXPORT_TRACK_H
#define EXPORT_TRACK_H

#include "userspace/export/gcm/sender.h"

#define NS_PER_MS 1000000ll
#define NS_PER_S  1000000000ll

#define TRACKS_MAX	(4 * SERIES_SET_MAX)
#define TRACKS_AHEAD_NS (300 * NS_PER_S) /* how far in the future the service accepts an end */

struct tracks;
struct tracks *tracks_new(uint32_t spacing_ms);
void tracks_free(struct tracks *t);
enum track_verdict {
	TRACK_FIT,
	TRACK_SOON,  /* too soon after the last */
	TRACK_PAST,  /* not after the last: the clock was set back */
	TRACK_UNFIT, /* refused by itself a while ago */
	TRACK_ROOM,  /* a while ago the service had no room for another series */
};
/* Decides whether the point may be the next of its series, and sets its interval. Remembers nothing
 * until tracks_note(). last: a point that comes too soon gets a later end, at which it is due. If
 * the clock has since been set back by more than TRACKS_AHEAD_NS, what was noted is forgotten: the
 * service accepted none of it. */
enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last);
void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t set_start_ns, uint64_t key, uint64_t now_ms);
/* The service knows a later end than the start that we know: the next point gets a new start. */
void tracks_restart(struct tracks *t, uint64_t key);
/* The service refuses its points for a reason of this series: TRACK_UNFIT for TRACKS_REFUSED_MS. */
#define TRACKS_REFUSED_MS (10 * 60 * 1000)
void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms);
/* Returns when its points were last sent (CLOCK_MONOTONIC); 0: never. */
uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key);
void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms);
/* Returns the end of its last point (UTC); 0: none. */
int64_t tracks_end_ns(const struct tracks *t, uint64_t key);
/* Iterates over all tracks, from *at = 0 on, for the file. Later ones have newer points. false: no
 * more. */
struct track_record {
	uint64_t key;
	int64_t set_start_ns, start_ns, end_ns; /* UTC */
	double value;
};
bool tracks_next(const struct tracks *t, size_t *at, struct track_record *ret);
/* Restores a track as if tracks_note() had been called. Returns 0, -ENOMEM or -ENOSPC. */
int tracks_put(struct tracks *t, const struct track_record *r, uint64_t now_ms);
/* Returns true if a series was added, or a start changed, since the last call. */
bool tracks_moved(struct tracks *t);
/* Forgets series without a point for SENDER_KEEP_S, earlier when there are more than a set holds;
 * gauges after a minute, because a later gauge needs no history. */
void tracks_prune(struct tracks *t, uint64_t now_ms);

/* Saves to a file in the queue's folder, so that start times survive this process: 40 bytes a
 * series, at most TRACKS_MAX. Returns 0 or -errno; on failure the old file stays. */
int tracks_save(const struct tracks *t, int folder);
/* Loads the saved tracks that are still possible at now_ns (UTC). Returns -errno if the file is
 * damaged, of another format, or writable by others; then nothing is loaded. 0 if there is no
 * file. */
int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms);

#endif
