/* SPDX-License-Identifier: Apache-2.0 */
/* trace_track.h - the tracks of a trace: one for each rank of each job over all its runs, one for a
 * process of which job or rank is not known, one for each job, one for gp-bpf itself; and the lanes
 * (threads, in the words of the format) of each, on which no two spans overlap. Pure.
 *
 * A track's number is a hash of what it is of, so one that goes on in a file of a predecessor is
 * the same track there. A track of which nothing was told for TRACK_KEEP_NS is forgotten, and made
 * again when something is. Bounded: TRACKS_MAX tracks; of what comes beyond, nothing is drawn. */
#ifndef EXPORT_TRACE_TRACK_H
#define EXPORT_TRACE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/model/job/fact.h"

#define TRACKS_MAX    8192
#define TRACK_KEEP_NS 600000000000ull
#define TRACK_OWN     1 /* number of gp-bpf's own */
#define TRACK_LANES                                                                                \
	4 /* beside each other, of one kind; what finds none free has no place on a lane */
#define TRACK_UNKNOWN UINT32_MAX

/* First lane of each kind; those of steps, of their phases and of what they were blocked in are one
 * for each loop. */
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
	struct trace_track
		*of; /* its job's, which is kept as long as it; NULL: it is no process's */
	uint32_t number;
	uint32_t order;	   /* among all tracks, from above */
	uint32_t pid;	   /* of the process that has it now; 0: it is no process's */
	uint64_t used_ns;  /* something was told of it last */
	uint64_t until_ns; /* end of the last span on any lane */
	bool lane_named[TRACK_END];
	bool named;
	int rank; /* -1: unknown */
	char job[GP_JOB_MAX];
	uint64_t lane_until_ns[TRACK_END];
	uint64_t left_out[STEP_LOOPS]; /* steps since the last one that was drawn */
};

struct trace_tracks;
struct trace_tracks *trace_tracks_new(void); /* NULL: no memory */
void trace_tracks_free(struct trace_tracks *ts);
/* The track of the process that a fact is about, of the job (job: true), or gp-bpf's own where it
 * is about neither. from_ns: of what is to be drawn there. NULL: there are too many, or no
 * memory. */
struct trace_track *trace_tracks_find(struct trace_tracks *ts, const struct fact *f, bool job,
				      uint64_t from_ns);
struct trace_track *trace_tracks_own(struct trace_tracks *ts); /* gp-bpf's */
/* What names them was lost. */
void trace_tracks_unname(struct trace_tracks *ts);
/* A lane of that kind which is free since from_ns, taken until to_ns; 0: none is. loop: of
 * TRACK_STEPS. */
uint32_t trace_lane(struct trace_track *t, enum track_kind kind, uint32_t loop, uint64_t from_ns,
		    uint64_t to_ns);
/* "steps", "phases", "ranges (2)"... */
const char *trace_lane_name(char *out, size_t len, uint32_t lane);

#endif
