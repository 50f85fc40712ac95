/* SPDX-License-Identifier: Apache-2.0 */
/* trace_track.h - the tracks of a trace: one for each rank of each job over all its runs, one for
 * each process whose job or rank is unknown, one for each job, one for gp-bpf itself; and the lanes
 * of each track (the format calls them threads), on which spans do not overlap. The number of a
 * track is a hash of its identity, so that a successor of gp-bpf continues the same tracks. A track
 * that was not used for TRACK_KEEP_NS is forgotten, and made again when it is needed. At most
 * TRACKS_MAX tracks; nothing is drawn for further ones. Pure. */
#ifndef EXPORT_TRACE_TRACK_H
#define EXPORT_TRACE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/fact.h"

#define TRACKS_MAX    8192
#define TRACK_KEEP_NS 600000000000ull
#define TRACK_OWN     1 /* track number of the track of gp-bpf itself */
#define TRACK_LANES   4 /* lanes of one kind; a span that finds none free gets no lane */

/* First lane of each kind. Steps, their phases and their blocked times have one lane for each
 * loop. */
enum track_kind {
	TRACK_STEPS = 1,
	TRACK_PHASES = TRACK_STEPS + STEP_LOOPS,
	TRACK_BLOCKED = TRACK_PHASES + STEP_LOOPS,
	TRACK_CHECKPOINTS = TRACK_BLOCKED + STEP_LOOPS,
	TRACK_EVALUATIONS = TRACK_CHECKPOINTS + TRACK_LANES,
	TRACK_RANGES = TRACK_EVALUATIONS + TRACK_LANES,
	TRACK_HEALTH = TRACK_RANGES + TRACK_LANES,
	TRACK_DISRUPTIONS = TRACK_HEALTH + TRACK_LANES,
	TRACK_OTHERS = TRACK_DISRUPTIONS + TRACK_LANES,
	TRACK_END,
};

struct trace_track {
	/* track of the process's job, kept as long as this one; NULL: not a track of a process */
	struct trace_track *of;
	uint32_t number;
	uint32_t order;	   /* position among all tracks, from the top */
	uint32_t pid;	   /* process that uses the track now; 0: not a track of a process */
	uint64_t used_ns;  /* time of the last use */
	uint64_t until_ns; /* end of the last span on any lane */
	bool lane_named[TRACK_END];
	bool named;
	int rank; /* -1: unknown */
	char job[GP_JOB_MAX];
	uint64_t lane_until_ns[TRACK_END];
	uint64_t left_out[STEP_LOOPS]; /* steps not drawn since the last drawn step */
};

struct trace_tracks;
struct trace_tracks *trace_tracks_new(void); /* NULL: no memory */
void trace_tracks_free(struct trace_tracks *ts);
/* Returns the track of the process that a fact is about, or the track of the process's job if `job`
 * is set; for other facts, gp-bpf's own track. from_ns: start of the span to be drawn. NULL: too
 * many tracks, or no memory. */
struct trace_track *trace_tracks_find(struct trace_tracks *ts, const struct fact *f, bool job,
				      uint64_t from_ns);
struct trace_track *trace_tracks_own(struct trace_tracks *ts); /* Returns gp-bpf's own track. */
/* Makes all tracks write their names again, because the names may be missing in the file. */
void trace_tracks_unname(struct trace_tracks *ts);
/* Occupies a lane of this kind that is free from from_ns on, until to_ns. Returns the lane; 0: none
 * is free. loop: number of the training loop; used only if kind is TRACK_STEPS. */
uint32_t trace_lane(struct trace_track *t, enum track_kind kind, uint32_t loop, uint64_t from_ns,
		    uint64_t to_ns);
/* Writes the name of a lane: "steps", "phases", "ranges (2)"... */
const char *trace_lane_name(char *out, size_t len, uint32_t lane);

#endif
