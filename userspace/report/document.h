/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - all that is known of a job, and what is missing: filled from a snapshot, or from a
 * store, which may hold a job that was imported from a log. Text, JSON object and HTML page are
 * made from one document, so that their numbers are the same. Keeps the last DOCUMENT_LIST runs,
 * ranks, disruptions, checkpoints, slowdowns and notes, and counts the others. Texts are printable,
 * but must be escaped for HTML and JSON. Times are UTC ns, durations ns. Single-threaded. */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/export/disruption.h"
#include "userspace/model/snapshot.h"
#include "userspace/report/report_times.h"
#include "userspace/report/verdict.h"
#include "userspace/store/compare.h"
#include "userspace/store/query.h"
#include "userspace/text/canvas.h"
#include "userspace/text/curve.h"

#define DOCUMENT_LIST	    1024
#define DOCUMENT_CAVEATS    24
#define DOCUMENT_CAVEAT_MAX 480 /* bytes of a caveat; the longest contains a job's name */

struct document_run {
	struct store_run run;
	/* of the run's reference rank, within the span */
	struct sums sums;
	uint64_t steps;
	struct report_times times;
};

struct document_rank {
	struct store_rank rank;
	struct sums sums; /* within the span, like the members below */
	uint64_t steps;
	struct report_times times;
};

struct document_list {
	void *at;
	uint32_t count, room;
	uint64_t earlier; /* number of items that are not kept */
};

#define DOCUMENT_AT(list, type, i) (&((const type *)(list).at)[i])

/* Where the time went in a window before the end of the document. */
struct document_window {
	uint64_t length_ns; /* as asked for */
	int64_t from_ns;    /* UTC; 0: unknown */
	uint64_t mono_ns;   /* from_ns as CLOCK_MONOTONIC; 0: unknown */
	/* the window covers everything, because the document begins later than the window */
	bool whole;
	struct ledger_view ledger;
	struct type_names types;
	uint64_t steps; /* 0 in a live run, where they are unknown */
};

struct report_document {
	bool live; /* from a snapshot: without lists of runs, checkpoints, slowdowns and notes */
	struct store_job job;
	int64_t now_ns;		   /* time of the report; 0: the end of the data */
	struct store_span span;	   /* as asked for */
	int64_t from_ns, to_ns;	   /* the job's own time in the span */
	struct ledger_view ledger; /* the job's time; the sum is elapsed time plus excluded time */
	struct type_names types;   /* of custom events in the ledger */
	struct store_totals totals;
	uint64_t steps; /* steps made, repeated ones included */
	/* of the job's reference rank; in a live run only if that is the first rank */
	struct report_times times;
	uint64_t saves, saves_async, restores, saves_ns;
	uint64_t restores_guessed; /* restores whose step was estimated or is unknown */
	int64_t secured_step;	   /* of the last complete save; STORE_NONE */
	/* recovery_ns, wasted_ns: after all disruptions in the span; unrecovered: number of those
	 * without a later step */
	uint64_t recovery_ns, wasted_ns, unrecovered;
	uint64_t unreadable; /* damaged rows, which are ignored */
	struct document_window windows[WINDOWS_MAX];
	uint32_t nwindows; /* 0: no windows were asked for */
	/* lists of struct document_run, disruption_row, store_checkpoint, store_health; of
	 * store_note */
	struct document_list runs, disruptions, checkpoints, healths, marks, exclusions;
	/* number of slowdowns that are over and cost almost nothing; they and their ends are marked
	 * as minor */
	uint32_t minor;
	/* of struct document_rank, for the last run with several ranks, otherwise the last run */
	struct document_list ranks;
	uint32_t attempt; /* attempt of the run whose ranks are listed */
	/* number of runs on other nodes, if the span is everything: their time is in the ledger */
	uint32_t elsewhere;
	/* Settings about accelerators, and where their time went; 0: unknown. */
	struct program_config program;
	double accelerator_ns[BUCKET_COUNT];
	/* of a live run only: a store has no rates */
	struct program_view rates;
	uint32_t accelerators;	/* number in use now */
	double scheduled_share; /* of the time since the job's first pod was created; 0: unknown */
	struct scheduling scheduling;
	/* counted_steps: steps that no restart disproved; last_step: number of the last step of the
	 * current training */
	uint64_t counted_steps, last_step;
	uint32_t futile_runs;
	uint64_t secured_ns; /* goodput up to secured_step */
	struct verdicts verdicts;
	/* comparison with other runs; NULL: not asked for; owned */
	struct store_comparison *compared;
	/* step times: given by the caller, otherwise made from minutes */
	struct curve *curve;
	bool every_step; /* the curve has each step, not minutes */
	/* what is estimated, and what was not observed */
	char caveats[DOCUMENT_CAVEATS][DOCUMENT_CAVEAT_MAX];
	uint32_t ncaveats;
};

/* Reads the document of a job. span: 0 and 0 is everything. curve: the times of all steps, from
 * malloc(), owned by the document from now on, also after an error; NULL: make one from the store.
 * Returns 0 or -errno. */
int document_of_store(struct report_document **ret, struct store *st, const struct store_job *job,
		      const struct store_span *span, struct curve *curve);
/* Fills a document from a job of a snapshot; s is not needed after that. Returns 0 or -ENOMEM. */
int document_of_snapshot(struct report_document **ret, const struct snapshot *s,
			 const struct job_view *j);
/* Adds windows of these lengths, at most WINDOWS_MAX, ended by 0; windows cover whole minutes
 * (query.h). Returns 0 or -errno. */
int document_windows(struct report_document *s, struct store *st, const uint64_t *length_ns);
void document_close(struct report_document *s); /* s may be NULL */

/* Returns the job's name for people. */
const char *document_name(const struct report_document *s);
/* Returns the number of all runs, including those on other nodes and those that are not listed. */
uint64_t document_runs(const struct report_document *s);
/* Returns true if there is time, but all of it is excluded. */
bool document_left_out(const struct report_document *s);
/* Returns the job's state in words: "running", "unseen", "state unknown"... */
const char *document_state(const struct report_document *s);
/* Elapsed time without UNOBSERVED; at least 0. */
uint64_t document_observed_ns(const struct sums *s);
/* Writes the goodput of the windows that are shorter than the document's span: "1h 91.2 %, 24h 93.0
 * %". Returns NULL if there is none. */
const char *document_lately(char *out, size_t len, const struct report_document *s);
/* Returns how a run or rank ended: "finished", "killed by signal 9", "exit status 3". end_ns
 * STORE_NONE: "still running" if the job is running and last_ns, when the run was last seen, is
 * recent; otherwise that its end was not seen. */
const char *document_fate(char *out, size_t len, const struct report_document *s, int64_t end_ns,
			  int64_t last_ns, int status);

/* Appends an item of that size; when DOCUMENT_LIST is reached the oldest items are dropped and
 * counted. Returns 0 or -ENOMEM. */
int document_list_add(struct document_list *l, const void *item, size_t size);
/* document_caveats.c: fills the caveats. */
void document_say(struct report_document *s);
void document_say_disruptions(struct report_document *s);

/* document_text.c, document_json.c: append the report as text, or as one JSON object on one
 * line. */
void document_text(struct buffer *out, const struct report_document *s, int cols, bool color);
void document_json(struct buffer *out, const struct report_document *s);
/* Puts the text report on a canvas, and finished lines into out. */
void document_text_put(struct canvas *c, struct buffer *out, const struct report_document *s);
/* Appends "windows": [...], with the members that windows have in JSON lines. */
void document_windows_json(struct buffer *out, const struct document_window *windows, uint32_t n);
/* Converts the windows in use of a rank or job; returns their number. wall_ns: UTC less
 * CLOCK_MONOTONIC; 0: unknown. */
uint32_t document_windows_of(struct document_window ret[WINDOWS_MAX], const struct window_view *w,
			     const struct type_names *types, int64_t wall_ns);
/* Appends "jobs": [...] for a snapshot. */
void document_jobs_json(struct buffer *out, const struct snapshot *s);
/* Appends the key that groups ranks to a job; as text, because some readers cannot parse 64-bit
 * numbers. */
void document_key_json(struct buffer *out, const char *name, uint64_t key);

/* Returns true if the report needs a part for the job, because it has several ranks or runs, or a
 * disruption. */
bool document_job_matters(const struct snapshot *s, const struct job_view *j);
/* Returns the job of a rank; NULL: none. */
const struct job_view *document_job_of(const struct snapshot *s, const struct rank_view *r);

#endif
