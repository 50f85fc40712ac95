/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - all that is known of a job, and what is missing: filled from a store, which may hold
 * a job that was imported from a log, or from a snapshot. Text, JSON object and HTML page are made
 * from one document, so that their numbers are the same.
 *
 * The last DOCUMENT_LIST runs, ranks, disruptions, checkpoints, slowdowns and notes are kept, and
 * the others counted. Texts are printable, but must be escaped for HTML and JSON. Times are UTC ns,
 * durations ns. Single-threaded. */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/export/disruption.h"
#include "userspace/model/snapshot.h"
#include "userspace/report/report_times.h"
#include "userspace/store/compare.h"
#include "userspace/store/query.h"
#include "userspace/text/canvas.h"
#include "userspace/text/curve.h"

#define DOCUMENT_LIST	    1024
#define DOCUMENT_CAVEATS    24
#define DOCUMENT_CAVEAT_MAX 480 /* bytes of a caveat; the longest contains a job's name */

struct document_run {
	struct store_run run;
	/* Of its reference rank, within the span: */
	struct sums sums;
	uint64_t steps;
	struct report_times times;
};

struct document_rank {
	struct store_rank rank;
	struct sums sums; /* within the span, as the following */
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
	int64_t from_ns;    /* 0: unknown */
	uint64_t mono_ns;   /* the same, CLOCK_MONOTONIC; 0: unknown */
	bool whole; /* the window covers all, because the document began later than the window */
	struct ledger_view ledger;
	struct type_names types;
	uint64_t steps; /* a live run does not know them: 0 */
};

struct report_document {
	bool live; /* from a snapshot: it has no lists of runs, checkpoints, slowdowns and notes */
	struct store_job job;
	int64_t now_ns;		   /* time of the report; 0: the end of the data */
	struct store_span span;	   /* as asked for */
	int64_t from_ns, to_ns;	   /* the job's own time in the span */
	struct ledger_view ledger; /* its time; the sum is the elapsed time and what is excluded */
	struct type_names types;   /* of custom events in it */
	struct store_totals totals;
	uint64_t steps; /* made */
	struct report_times
		times; /* of its reference rank; of a live run only if it is the first one */
	uint64_t saves, saves_async, restores, saves_ns;
	uint64_t restores_guessed; /* restores whose step was estimated or is unknown */
	int64_t secured_step;	   /* of the last complete save; STORE_NONE */
	uint64_t recovery_ns, wasted_ns, unrecovered; /* time after all disruptions in it; after
							 those without a later step */
	uint64_t unreadable;			      /* damaged rows, which are ignored */
	struct document_window windows[WINDOWS_MAX];
	uint32_t nwindows; /* 0: none were asked for */
	/* Of struct document_run, disruption_row, store_checkpoint, store_health; of store_note. */
	struct document_list runs, disruptions, checkpoints, healths, marks, exclusions;
	uint32_t minor; /* slowdowns that are over and cost almost nothing; they and their ends are
			   marked */
	struct document_list ranks; /* struct document_rank; of the last run with several ranks,
				       else of the last run */
	uint32_t attempt;	    /* of that run */
	uint32_t elsewhere; /* runs on other nodes, if the span is everything: they are in the
			       ledger */
	/* Settings about accelerators, and where their time went; 0: unknown. */
	struct program_config program;
	double accelerator_ns[BUCKET_COUNT];
	/* Of a live run only: a store has no figures of steps. */
	struct program_view rates;
	uint32_t accelerators;	/* now */
	double scheduled_share; /* of the time since its first pod was created; 0: unknown */
	struct scheduling scheduling;
	uint64_t counted_steps, last_step; /* steps that count; those of the last training */
	uint32_t futile_runs;
	uint64_t secured_ns;		   /* goodput up to secured_step */
	struct store_comparison *compared; /* with its peers; NULL: not asked for; owned */
	struct curve *curve;		   /* step times: given by the caller, else from minutes */
	bool every_step;		   /* the curve has each step */
	char caveats[DOCUMENT_CAVEATS][DOCUMENT_CAVEAT_MAX]; /* caveats: what is estimated, and what
								was not observed */
	uint32_t ncaveats;
};

/* Reads the document of a job. span: 0 and 0 is everything. curve: the times of all steps, from
 * malloc(), owned by the document from now on, also after an error; NULL: use the store's. Returns
 * 0 or -errno. */
int document_of_store(struct report_document **ret, struct store *st, const struct store_job *job,
		      const struct store_span *span, struct curve *curve);
/* Fills a document from a job of a snapshot; s is not needed after that. Returns 0 or -ENOMEM. */
int document_of_snapshot(struct report_document **ret, const struct snapshot *s,
			 const struct job_view *j);
/* Adds windows of these lengths, at most WINDOWS_MAX, ended by 0; they cover whole minutes
 * (query.h). Returns 0 or -errno. */
int document_windows(struct report_document *s, struct store *st, const uint64_t *length_ns);
void document_close(struct report_document *s); /* NULL is fine */

/* The name for people. */
const char *document_name(const struct report_document *s);
/* All its runs, those on other nodes and those not kept included. */
uint64_t document_runs(const struct report_document *s);
/* Whether there is time, but all of it is excluded. */
bool document_left_out(const struct report_document *s);
/* "running", "unseen", "state unknown"... */
const char *document_state(const struct report_document *s);
/* Elapsed time without UNOBSERVED; at least 0. */
uint64_t document_observed_ns(const struct sums *s);
/* Goodput of the windows that do not cover everything: "1h 91.2 %, 24h 93.0 %". NULL: there are
 * none. */
const char *document_lately(char *out, size_t len, const struct report_document *s);
/* How a run or rank ended: "finished", "killed by signal 9", "exit status 3"; end_ns STORE_NONE:
 * "still running" if the job is running and last_ns, when it was last seen, is recent; else that
 * its end was not seen. */
const char *document_fate(char *out, size_t len, const struct report_document *s, int64_t end_ns,
			  int64_t last_ns, int status);

/* Appends an item of that size; beyond DOCUMENT_LIST the oldest are dropped and counted. Returns 0
 * or -ENOMEM. */
int document_list_add(struct document_list *l, const void *item, size_t size);
/* document_caveats.c: fills the caveats. */
void document_say(struct report_document *s);
void document_say_disruptions(struct report_document *s);

/* document_text.c, document_json.c: a report each; the object is on one line. */
void document_text(struct buffer *out, const struct report_document *s, int cols, bool color);
void document_json(struct buffer *out, const struct report_document *s);
/* Puts the same text on a canvas, and its lines into out. */
void document_text_put(struct canvas *c, struct buffer *out, const struct report_document *s);
/* "windows": [...], with the members of a JSON line. */
void document_windows_json(struct buffer *out, const struct document_window *windows, uint32_t n);
/* Converts the windows of a rank or job in use; returns their number. wall_ns: UTC less
 * CLOCK_MONOTONIC; 0: unknown. */
uint32_t document_windows_of(struct document_window ret[WINDOWS_MAX], const struct window_view *w,
			     const struct type_names *types, int64_t wall_ns);
/* "jobs": [...] of a snapshot. */
void document_jobs_json(struct buffer *out, const struct snapshot *s);
/* The key that groups ranks to a job; as text, because some readers cannot parse 64-bit numbers. */
void document_key_json(struct buffer *out, const char *name, uint64_t key);

/* Whether the job needs a part of its own, because it has several ranks or runs, or a disruption.
 */
bool document_job_matters(const struct snapshot *s, const struct job_view *j);
/* The job of a rank; NULL: none. */
const struct job_view *document_job_of(const struct snapshot *s, const struct rank_view *r);

#endif
