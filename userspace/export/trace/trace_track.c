/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/trace/trace_track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/base/table.h"

/* Positions of tracks in the viewer. Each job has ORDER_OF_JOB positions: first its own track, then
 * its ranks, and last its processes without a rank. */
#define ORDER_OF_JOB   100000
#define ORDER_UNRANKED (ORDER_OF_JOB - 1)
/* number of different track numbers; viewers display these numbers */
#define NUMBER_ROOM	0xfffff0u
#define PROCESSES_MAX	(4 * TRACKS_MAX)
#define FORGET_CHECK_NS 60000000000ull /* time between searches for unused tracks */
/* kinds of tracks; part of their hash, so that keys of different kinds differ */
#define HASH_JOB     1
#define HASH_RANK    2
#define HASH_PROCESS 3

struct trace_tracks {
	struct table *by_key;  /* all tracks, by hash of their identity */
	struct table *numbers; /* track numbers in use */
	struct table *process; /* maps processes to their tracks, which by_key owns */
	uint32_t jobs;
	uint64_t checked_ns;
};

struct trace_tracks *trace_tracks_new(void)
{
	struct trace_tracks *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return NULL;
	ts->by_key = table_new();
	ts->numbers = table_new();
	ts->process = table_new();
	if (ts->by_key && ts->numbers && ts->process)
		return ts;
	trace_tracks_free(ts);
	return NULL;
}

void trace_tracks_free(struct trace_tracks *ts)
{
	if (!ts)
		return;
	if (ts->process)
		table_free(ts->process, NULL);
	if (ts->numbers)
		table_free(ts->numbers, NULL);
	if (ts->by_key)
		table_free(ts->by_key, free);
	free(ts);
}

static uint64_t track_key_of(uint64_t kind, const char *job, uint64_t a, uint64_t b)
{
	uint64_t hash = hash_bytes(hash_word(HASH_START, kind), job, strlen(job));

	return hash_word(hash_word(hash, a), b);
}

static uint64_t trace_track_process_key(const struct fact *f)
{
	return track_key_of(HASH_PROCESS, "", f->pid, f->start_ns);
}

/* Forgets tracks that were unused for TRACK_KEEP_NS. A process that continues later gets the same
 * track, whose names are written again. */
static void tracks_forget(struct trace_tracks *ts, uint64_t now_ns)
{
	struct trace_track *t;
	uint64_t key;
	bool full;

	if (now_ns < ts->checked_ns + FORGET_CHECK_NS)
		return;
	ts->checked_ns = now_ns;
	/* If there are too many processes (restarts of ranks), forget them all: their tracks are
	 * found again by rank. */
	full = table_count(ts->process) > PROCESSES_MAX / 2;
	for (size_t at = 0; (t = table_next(ts->process, &at, &key));)
		if (full || now_ns >= t->used_ns + TRACK_KEEP_NS)
			table_take(ts->process, key);
	for (size_t at = 0; (t = table_next(ts->by_key, &at, &key));) {
		if (t->number == TRACK_OWN || now_ns < t->used_ns + TRACK_KEEP_NS)
			continue;
		table_take(ts->by_key, key);
		table_take(ts->numbers, t->number);
		free(t);
	}
}

static struct trace_track *track_new(struct trace_tracks *ts, uint64_t key, uint32_t number)
{
	struct trace_track *t = table_count(ts->by_key) < TRACKS_MAX ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	if (!number) {
		number = TRACK_OWN + 1 + (uint32_t)((key ^ key >> 32) % NUMBER_ROOM);
		while (table_get(ts->numbers, number))
			number++;
	}
	t->number = number;
	t->rank = -1;
	if (table_put(ts->numbers, number, t) || table_put(ts->by_key, key, t)) {
		table_take(ts->numbers, number);
		free(t);
		return NULL;
	}
	return t;
}

struct trace_track *trace_tracks_own(struct trace_tracks *ts)
{
	uint64_t key = track_key_of(0, "", 0, 0);
	struct trace_track *t = table_get(ts->by_key, key);

	return t ? t : track_new(ts, key, TRACK_OWN);
}

void trace_tracks_unname(struct trace_tracks *ts)
{
	struct trace_track *t;

	for (size_t at = 0; (t = table_next(ts->by_key, &at, NULL));) {
		t->named = false;
		memset(t->lane_named, 0, sizeof(t->lane_named));
	}
}

/* Returns the track of a job, new if there is none. Processes without a job share the track of the
 * job "". */
static struct trace_track *trace_track_job_track(struct trace_tracks *ts, const char *job)
{
	uint64_t key = track_key_of(HASH_JOB, job, 0, 0);
	struct trace_track *t = table_get(ts->by_key, key);

	if (t)
		return t;
	t = track_new(ts, key, 0);
	if (!t)
		return NULL;
	t->order = ++ts->jobs * ORDER_OF_JOB;
	snprintf(t->job, sizeof(t->job), "%s", job);
	return t;
}

/* Returns the track for a process that has none: the track of its rank or, if another process uses
 * that track, a new one. */
static struct trace_track *trace_track_new_process(struct trace_tracks *ts, const struct fact *f,
						   uint64_t from_ns)
{
	bool known = f->rank >= 0 && f->job && *f->job;
	uint64_t key = known ? track_key_of(HASH_RANK, f->job, (uint64_t)f->rank, 0)
			     : trace_track_process_key(f);
	struct trace_track *t = table_get(ts->by_key, key), *job;

	if (t && t->until_ns > from_ns && t->pid != f->pid) {
		key = trace_track_process_key(f);
		t = table_get(ts->by_key, key);
	}
	job = t ? NULL : trace_track_job_track(ts, f->job ? f->job : "");
	if (!t && job)
		t = track_new(ts, key, 0);
	if (!t || table_count(ts->process) >= PROCESSES_MAX ||
	    table_put(ts->process, trace_track_process_key(f), t))
		return NULL;
	if (job) {
		t->order = job->order + 1;
		t->of = job;
	}
	return t;
}

static struct trace_track *trace_track_find(struct trace_tracks *ts, const struct fact *f, bool job,
					    uint64_t from_ns)
{
	struct trace_track *t;
	uint32_t first;

	if (job && f->job && *f->job)
		return trace_track_job_track(ts, f->job);
	if (!f->pid)
		return trace_tracks_own(ts);
	t = table_get(ts->process, trace_track_process_key(f));
	t = t ? t : trace_track_new_process(ts, f, from_ns);
	if (!t || (t->named && t->pid == f->pid && t->rank == f->rank &&
		   !strcmp(t->job, f->job ? f->job : "")))
		return t;
	/* The rank may become known after the first event of the process: update the position. */
	first = t->order - t->order % ORDER_OF_JOB;
	t->order = first + (f->rank >= 0 && f->rank < ORDER_UNRANKED ? 1 + (uint32_t)f->rank
								     : ORDER_UNRANKED);
	t->named = false;
	t->pid = f->pid;
	t->rank = f->rank;
	snprintf(t->job, sizeof(t->job), "%s", f->job ? f->job : "");
	return t;
}

struct trace_track *trace_tracks_find(struct trace_tracks *ts, const struct fact *f, bool job,
				      uint64_t from_ns)
{
	struct trace_track *t;

	tracks_forget(ts, f->mono_ns);
	t = trace_track_find(ts, f, job, from_ns);
	for (struct trace_track *used = t; used; used = used->of)
		used->used_ns = f->mono_ns;
	return t;
}

uint32_t trace_lane(struct trace_track *t, enum track_kind kind, uint32_t loop, uint64_t from_ns,
		    uint64_t to_ns)
{
	uint32_t first = kind, count = kind == TRACK_OTHERS ? 1 : TRACK_LANES;

	if (kind == TRACK_STEPS) {
		first += loop < STEP_LOOPS ? loop : STEP_LOOPS - 1;
		count = 1;
	}
	for (uint32_t lane = first; lane < first + count; lane++) {
		if (t->lane_until_ns[lane] > from_ns)
			continue;
		t->lane_until_ns[lane] = to_ns;
		t->until_ns = t->until_ns > to_ns ? t->until_ns : to_ns;
		return lane;
	}
	return 0;
}

const char *trace_lane_name(char *out, size_t len, uint32_t lane)
{
	static const struct {
		enum track_kind kind;
		const char *name;
	} kinds[] = {{TRACK_STEPS, "steps"},
		     {TRACK_PHASES, "phases"},
		     {TRACK_BLOCKED, "collectives, waits"},
		     {TRACK_CHECKPOINTS, "checkpoints"},
		     {TRACK_EVALUATIONS, "evaluation"},
		     {TRACK_RANGES, "ranges"},
		     {TRACK_HEALTH, "health"},
		     {TRACK_DISRUPTIONS, "disruptions"},
		     {TRACK_OTHERS, "events"}};
	uint32_t i = 0;

	while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && kinds[i + 1].kind <= lane)
		i++;
	if (lane == kinds[i].kind)
		snprintf(out, len, "%s", kinds[i].name);
	else
		snprintf(out, len, "%s (%u)", kinds[i].name, lane - kinds[i].kind + 1);
	return out;
}
