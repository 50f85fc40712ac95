/* SPDX-License-Identifier: Apache-2.0 */
/* track.h - remembers the last point of each series, and gives the next point an interval that the
 * service accepts, or rejects the point. Not thread-safe. */
#ifndef EXPORT_TRACK_H
#define EXPORT_TRACK_H

#include "userspace/export/gcm/sender.h"

#define NS_PER_MS 1000000ll
#define NS_PER_S  1000000000ll

#define TRACKS_MAX	(4 * SERIES_SET_MAX)
#define TRACKS_AHEAD_NS (300 * NS_PER_S) /* how far in the future the service lets a point end */

struct tracks;
struct tracks *tracks_new(uint32_t spacing_ms);
void tracks_free(struct tracks *t);
enum track_verdict {
	TRACK_FIT,
	TRACK_SOON,  /* the point is too soon after the last point of its series */
	TRACK_PAST,  /* the point is not after the last point: the clock was set back */
	TRACK_UNFIT, /* within TRACKS_REFUSED_MS, the service refused a point of this series */
	TRACK_ROOM,  /* within TRACKS_REFUSED_MS, the service had no room for this series */
};
/* Decides whether p may be the next point of its series, and sets its interval. After the point was
 * sent, call tracks_note() to record it. last: a point that comes too soon gets a later end, which
 * the service accepts at that time. Forgets the recorded points if the clock was set back by more
 * than TRACKS_AHEAD_NS since: the service accepted none of them. */
enum track_verdict tracks_ask(struct tracks *t, const struct series_set *set, struct series *p,
			      uint64_t key, uint64_t now_ms, bool last);
void tracks_note(struct tracks *t, const struct series_set *set, const struct series *p,
		 int64_t set_start_ns, uint64_t key, uint64_t now_ms);
/* Gives the next point of the series a new start, because the service refused the current one as
 * earlier than the end of a previous point. */
void tracks_restart(struct tracks *t, uint64_t key);
/* Excludes the series for TRACKS_REFUSED_MS, because the service refuses its points. During this
 * time tracks_ask() returns `why` (TRACK_UNFIT or TRACK_ROOM). */
#define TRACKS_REFUSED_MS (10 * 60 * 1000)
void tracks_refused(struct tracks *t, uint64_t key, enum track_verdict why, uint64_t now_ms);
/* Returns when points of the series were last sent (CLOCK_MONOTONIC); 0: never. */
uint64_t tracks_sent_ms(const struct tracks *t, uint64_t key);
void tracks_sent(struct tracks *t, uint64_t key, uint64_t now_ms);
/* Returns the end of the last point of the series (UTC); 0: none. */
int64_t tracks_end_ns(const struct tracks *t, uint64_t key);
/* Iterates over all tracks, from *at = 0 on. Returns false when there are no more. */
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
/* Forgets series without a point for SENDER_KEEP_S, or for ten minutes when there are more than
 * SERIES_SET_MAX; gauges after a minute, as they need no history. */
void tracks_prune(struct tracks *t, uint64_t now_ms);

/* Saves all tracks to a file in `folder` (the queue on disk), so that start times survive this
 * process: 40 bytes for each series. Returns 0 or -errno; on failure the old file stays. */
int tracks_save(const struct tracks *t, int folder);
/* Loads the saved tracks that are still valid at now_ns (UTC). Returns 0, also if there is no file;
 * -errno if the file is damaged, of another format, or writable by others: then nothing is
 * loaded. */
int tracks_load(struct tracks *t, int folder, int64_t now_ns, uint64_t now_ms);

#endif
