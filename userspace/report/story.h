/* SPDX-License-Identifier: Apache-2.0 */
/* story.h - a job report: all that a store knows of a job within a span, and what is missing. Text,
 * JSON object and HTML page are made from one story, so that their numbers are the same.
 *
 * The last STORY_LIST runs, ranks, disruptions, checkpoints, slowdowns and notes are kept, and the
 * others counted. Texts are printable, but must be escaped for HTML and JSON. Times are UTC ns,
 * durations ns. Single-threaded. */
#ifndef REPORT_STORY_H
#define REPORT_STORY_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/model/time/ledger.h"
#include "userspace/model/time/program.h"
#include "userspace/model/time/window.h"
#include "userspace/store/compare.h"
#include "userspace/store/query.h"
#include "userspace/text/curve.h"

#define STORY_LIST	 1024
#define STORY_CAVEATS	 24
#define STORY_CAVEAT_MAX 480 /* bytes of a caveat; the longest contains a job's name */

struct story_run {
	struct store_run run;
	struct store_totals totals; /* of its reference rank, within the span */
};

struct story_rank {
	struct store_rank rank;
	struct store_totals totals; /* within the span */
};

struct story_list {
	void *at;
	uint32_t count;
	uint64_t earlier; /* number of items that are not kept */
};

#define STORY_AT(list, type, i) (&((const type *)(list).at)[i])

/* Where the time went in a window before the end of the story. */
struct story_window {
	uint64_t length_ns; /* as asked for */
	int64_t from_ns;
	bool whole; /* the window covers all, because the story began later than the window */
	struct ledger_view ledger;
	struct type_names types;
	uint64_t steps;
};

struct story {
	struct store_job job;
	int64_t now_ns;		   /* time of the report; 0: the end of the data */
	struct store_span span;	   /* as asked for */
	int64_t from_ns, to_ns;	   /* the job's own time in the span */
	struct ledger_view ledger; /* its time; the sum is the elapsed time and what is excluded */
	struct type_names types;   /* of custom events in it */
	struct store_totals totals;
	uint64_t ideal_ns; /* ideal step time; 0: fewer than 3 steps */
	uint64_t saves, saves_async, restores, saves_ns;
	uint64_t restores_guessed; /* restores whose step was estimated or is unknown */
	int64_t secured_step;	   /* of the last complete save; STORE_NONE */
	uint64_t recovery_ns, wasted_ns, unrecovered; /* time after all disruptions in it; after
							 those without a later step */
	uint64_t unreadable;			      /* damaged rows, which are ignored */
	struct story_window windows[WINDOWS_MAX];
	uint32_t nwindows; /* 0: none were asked for */
	struct story_list runs, disruptions, checkpoints, healths, marks, exclusions;
	uint32_t minor; /* slowdowns that are over and cost almost nothing; they and their ends are
			   marked */
	struct story_list ranks; /* of the last run with several ranks, else of the last run */
	uint32_t attempt;	 /* of that run */
	uint32_t elsewhere;	 /* runs on other nodes, if the span is everything: they are in the
				    ledger */
	/* Settings about accelerators, and where their time went; 0: unknown. */
	struct program_config program;
	double accelerator_ns[BUCKET_COUNT];
	struct program_view rates;	   /* of a live run only: a store has no figures of steps */
	struct store_comparison *compared; /* with its peers; NULL: not asked for; owned */
	struct curve *curve;		   /* step times: given by the caller, else from minutes */
	bool every_step;		   /* the curve has each step */
	char caveats[STORY_CAVEATS]
		    [STORY_CAVEAT_MAX]; /* caveats: what is estimated, and what was not observed */
	uint32_t ncaveats;
};

/* Reads the story of a job. span: 0 and 0 is everything. curve: the times of all steps, from
 * malloc(), owned by the story from now on, also after an error; NULL: use the store's. Returns 0
 * or -errno. */
int story_open(struct story **ret, struct store *st, const struct store_job *job,
	       const struct store_span *span, struct curve *curve);
/* Adds windows of these lengths, at most WINDOWS_MAX, ended by 0; they cover whole minutes
 * (query.h). Returns 0 or -errno. */
int story_windows(struct story *s, struct store *st, const uint64_t *length_ns);
void story_close(struct story *s); /* NULL is fine */

/* The name for people. */
const char *story_name(const struct story *s);
/* Whether there is time, but all of it is excluded. */
bool story_left_out(const struct story *s);
/* "running", "unseen", "state unknown"... */
const char *story_state(const struct story *s);
/* Mean of the times up to median + 3 MAD, from classes (model/time/deviation.h computes it from
 * single times). 0: fewer than 3 times. */
uint64_t story_ideal_ns(const struct sketch *times);
/* Elapsed time without UNOBSERVED; at least 0. */
uint64_t story_observed_ns(const struct sums *s);
/* Goodput of the windows that do not cover everything: "1h 91.2 %, 24h 93.0 %". NULL: there are
 * none. */
const char *story_lately(char *out, size_t len, const struct story *s);
/* "killed, signal 9 by bash", "exit, status 3", "asked to end". */
const char *story_cause(char *out, size_t len, const struct store_disruption *d);
const char *story_bytes(char *out, size_t len, int64_t bytes); /* "1.2 GB"; decimal units */
/* "saved", "saved beside training", "begun, its end was not seen", "read, written after step 600
 * (path, confidence 0.95)". */
const char *story_checkpoint(char *out, size_t len, const struct store_checkpoint *c);
/* "hang, stopped", "slower steps", "fast again". */
const char *story_trouble(char *out, size_t len, const struct store_health *h);
/* The cost: "a step took 951 µs more for 50.0 s"; "" if the evidence shows it already. */
const char *story_size(char *out, size_t len, const struct store_health *h);
/* Marks slowdowns that cost less than 1/STORY_MINOR of the reported time. */
#define STORY_MINOR 1000
void story_weigh(struct story *s);
/* How a run or rank ended: "finished", "killed by signal 9", "exit status 3"; end_ns STORE_NONE:
 * "still running" if the job is running and last_ns, when it was last seen, is recent; else that
 * its end was not seen. */
const char *story_fate(char *out, size_t len, const struct story *s, int64_t end_ns,
		       int64_t last_ns, int status);

/* story_words.c: fills said[], the caveats. */
void story_say(struct story *s);

/* story_text.c, story_json.c: a report each; the object is on one line. */
void story_text(struct buffer *out, const struct story *s, int cols, bool color);
void story_json(struct buffer *out, const struct story *s);

#endif
