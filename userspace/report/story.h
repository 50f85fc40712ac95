/* SPDX-License-Identifier: Apache-2.0 */
/* story.h - one job as a report tells it: what a store knows of it within a span, and what that
 * leaves open. The text, the JSON object and the page are all made of a story, so their numbers are
 * the same.
 *
 * Bounded: of runs, ranks, disruptions, checkpoints, slowdowns and notes the last STORY_LIST are
 * kept, the others counted. Texts are printable, but to be escaped for what they are put into.
 * Times are UTC ns, durations ns. Single-threaded. */
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

#define STORY_LIST     1024
#define STORY_SAID     24
#define STORY_SAID_MAX 480 /* bytes of a sentence; the longest has a job's name in it */

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
	uint64_t earlier; /* that are not kept */
};

#define STORY_AT(list, type, i) (&((const type *)(list).at)[i])

/* Where the time of so long before the end of what is told went. */
struct story_window {
	uint64_t length_ns; /* asked for */
	int64_t from_ns;
	bool whole; /* all that is told: it began less than that ago */
	struct ledger_view ledger;
	struct type_names types;
	uint64_t steps, excluded_ns;
};

struct story {
	struct store_job job;
	int64_t now_ns;		   /* when it is asked for; 0: of what is told as it ends */
	struct store_span span;	   /* asked for */
	int64_t from_ns, to_ns;	   /* the job's own time in it */
	struct ledger_view ledger; /* its time in it, less what was left out; sums up to elapsed */
	struct type_names types;   /* of custom events in it */
	struct store_totals totals;
	uint64_t ideal_ns; /* of a step; 0: under 3 steps */
	uint64_t saves, saves_async, restores, saves_ns;
	uint64_t restores_guessed; /* of what they read it was estimated, or not known, which step
				      it is of */
	int64_t secured_step;	   /* of the last whole save; STORE_NONE */
	uint64_t recovery_ns, wasted_ns,
		unrecovered; /* of all disruptions in it; those with no step after them */
	uint64_t unreadable; /* rows that are damaged: they count as nothing */
	struct story_window windows[WINDOWS_MAX];
	uint32_t nwindows; /* 0: none was asked for */
	struct story_list runs, disruptions, checkpoints, healths, marks, exclusions;
	uint32_t minor; /* slowdowns that are over and cost next to nothing; they and their ends are
			 * marked so */
	struct story_list ranks; /* of the last run of several in it, else of its last run */
	uint32_t attempt;	 /* of that run */
	uint32_t elsewhere; /* runs that other nodes had, where everything is asked for: they are in
			       the ledger */
	/* What was asked of accelerators, and where their time went; 0: not known. */
	struct program_config program;
	double accelerator_ns[BUCKET_COUNT];
	struct program_view rates; /* of a watch alone: a store does not know what a step is */
	struct store_comparison *compared; /* beside its peers; NULL: nobody asked. Freed with it */
	struct curve *curve;		   /* step times; from minutes, unless they were given */
	bool every_step;		   /* ... from each step */
	char said[STORY_SAID]
		 [STORY_SAID_MAX]; /* what is estimated, what was not observed; in words */
	uint32_t nsaid;
};

/* span: 0 and 0 is everything. curve: the times of every step, from malloc() and taken over, also
 * where it fails; NULL: as the store has them. 0 or -errno. */
int story_open(struct story **ret, struct store *st, const struct store_job *job,
	       const struct store_span *span, struct curve *curve);
/* Windows of these lengths, WINDOWS_MAX at most, up to the first that is 0; minutes are whole
 * (query.h). 0 or -errno. */
int story_windows(struct story *s, struct store *st, const uint64_t *length_ns);
void story_close(struct story *s); /* NULL is fine */

/* What a person calls it. */
const char *story_name(const struct story *s);
/* There is time, and an exclusion has taken all of it. */
bool story_left_out(const struct story *s);
/* "running", "unseen", "state unknown"... */
const char *story_state(const struct story *s);
/* Mean of times up to median + 3 MAD, from classes (model/time/deviation.h has it from times). 0:
 * under 3. */
uint64_t story_ideal_ns(const struct sketch *times);
/* Elapsed without UNOBSERVED; 0 where that is none. */
uint64_t story_observed_ns(const struct sums *s);
/* Goodput of the windows that are not all of it: "1h 91.2 %, 24h 93.0 %". NULL: there is none. */
const char *story_lately(char *out, size_t len, const struct story *s);
/* "killed, signal 9 by bash", "exit, status 3", "asked to end". */
const char *story_cause(char *out, size_t len, const struct store_disruption *d);
const char *story_bytes(char *out, size_t len, int64_t bytes); /* "1.2 GB"; decimal units */
/* "saved", "saved beside training", "begun, its end was not seen", "read, written after step 600
 * (path, confidence 0.95)". */
const char *story_checkpoint(char *out, size_t len, const struct store_checkpoint *c);
/* "hang, stopped", "slower steps", "fast again". */
const char *story_trouble(char *out, size_t len, const struct store_health *h);
/* What it cost: "a step took 951 µs more for 50.0 s"; "" where its evidence says what it is. */
const char *story_size(char *out, size_t len, const struct store_health *h);
/* Marks the slowdowns that cost less than STORY_MINOR of the time that is told. */
#define STORY_MINOR 1000 /* one part of so many */
void story_weigh(struct story *s);
/* How a run or a rank ended: "finished", "killed by signal 9", "exit status 3"; end_ns STORE_NONE:
 * "still running" where the job does and last_ns, when it was last seen, is not long ago, else its
 * end was not seen. */
const char *story_fate(char *out, size_t len, const struct story *s, int64_t end_ns,
		       int64_t last_ns, int status);

/* story_words.c: fills said[]. */
void story_say(struct story *s);

/* story_text.c, story_json.c: one report each; the object is on one line. */
void story_text(struct buffer *out, const struct story *s, int cols, bool color);
void story_json(struct buffer *out, const struct story *s);

#endif
