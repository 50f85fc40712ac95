/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - a job report before it is formatted: all that is known of a job, and which data is
 * missing. It is filled from a snapshot or from a store, which may contain a job imported from a
 * log. The text, JSON and HTML reports are made from one document, so that their numbers agree.
 * Keeps the last DOCUMENT_LIST runs, ranks, disruptions, checkpoints, slowdowns and notes, and
 * counts the others. Texts are printable, but must be escaped for HTML and JSON. Times are UTC ns,
 * durations ns. Single-threaded. */
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
#define DOCUMENT_CAVEAT_MAX 480 /* limit of a caveat in bytes; the longest has a job's name */

struct document_run {
	struct store_run run;
	/* sums, steps and times are those of the run's reference rank, within the requested span */
	struct sums sums;
	uint64_t steps;
	struct report_times times;
};

struct document_rank {
	struct store_rank rank;
	struct sums sums; /* sums, steps and times are those within the requested span */
	uint64_t steps;
	struct report_times times;
};

struct document_list {
	void *at;
	uint32_t count, room;
	uint64_t earlier; /* number of items dropped because the list was full */
};

#define DOCUMENT_AT(list, type, i) (&((const type *)(list).at)[i])

/* Ledger of a time window that ends where the document ends. */
struct document_window {
	uint64_t length_ns; /* requested length */
	int64_t from_ns;    /* UTC; 0: unknown */
	uint64_t mono_ns;   /* from_ns as CLOCK_MONOTONIC; 0: unknown */
	/* true if the document begins after the start of the window, so that the window covers the
	 * whole document */
	bool whole;
	struct ledger_view ledger;
	struct type_names types;
	uint64_t steps; /* number of steps; 0 in a live run, where it is unknown */
};

struct report_document {
	/* made from a snapshot, which has no lists of runs, checkpoints, slowdowns and notes */
	bool live;
	struct store_job job;
	int64_t now_ns;		/* time of the report; 0: the report ends with the data */
	struct store_span span; /* requested time span */
	int64_t from_ns, to_ns; /* first and last time of the job within the span */
	/* where the job's time went; the sum is elapsed plus excluded time */
	struct ledger_view ledger;
	struct type_names types; /* time of custom events by type */
	struct store_totals totals;
	uint64_t steps; /* steps executed, including repeated ones */
	/* step times of the job's reference rank; in a live run only if it is the first rank */
	struct report_times times;
	uint64_t saves, saves_async, restores, saves_ns;
	uint64_t restores_guessed; /* number of restores whose step is estimated or unknown */
	/* number of the last step with a complete save; STORE_NONE: none */
	int64_t secured_step;
	/* recovery_ns, wasted_ns: sums over all disruptions in the span. unrecovered: number of
	 * disruptions that no step followed. */
	uint64_t recovery_ns, wasted_ns, unrecovered;
	uint64_t unreadable; /* number of damaged rows in the store, which are ignored */
	struct document_window windows[WINDOWS_MAX];
	uint32_t nwindows; /* 0: the caller requested no windows */
	/* lists of struct document_run, disruption_row, store_checkpoint and store_health; marks
	 * and exclusions are lists of struct store_note */
	struct document_list runs, disruptions, checkpoints, healths, marks, exclusions;
	/* number of finished slowdowns that cost almost nothing; their rows are marked as minor */
	uint32_t minor;
	/* list of struct document_rank: the ranks of the last run that has several ranks, or of the
	 * last run if none has */
	struct document_list ranks;
	uint32_t attempt; /* attempt number of the run whose ranks are listed */
	/* number of runs on other nodes, if the ledger includes the time of these runs; 0 if the
	 * report has a limited time span */
	uint32_t elsewhere;
	/* accelerator settings, and accelerator time by bucket; 0: unknown */
	struct program_config program;
	double accelerator_ns[BUCKET_COUNT];
	/* Throughput, only in a live run: a store does not record it. */
	struct program_view rates;
	uint32_t accelerators; /* number in use now */
	/* share of the time since the job's first pod was created in which the job had its
	 * nodes; 0: unknown */
	double scheduled_share;
	struct scheduling scheduling;
	/* counted_steps: steps that were not undone by a restart. last_step: number of the last
	 * step of the current training. */
	uint64_t counted_steps, last_step;
	uint32_t futile_runs;
	uint64_t secured_ns; /* goodput time up to step secured_step */
	struct verdicts verdicts;
	/* comparison with other runs; owned; NULL: not requested */
	struct store_comparison *compared;
	/* step times over the run: given by the caller, or else computed from minutes */
	struct curve *curve;
	bool every_step; /* the curve has a point for each step, not for each minute */
	/* sentences about what is estimated and what was not observed */
	char caveats[DOCUMENT_CAVEATS][DOCUMENT_CAVEAT_MAX];
	uint32_t ncaveats;
};

/* Reads the report of a job from a store. span: 0 and 0 stand for all time. curve: the times of all
 * steps, from malloc(); the document owns it from now on, also after an error; NULL: compute one
 * from the store. Returns 0 or -errno. */
int document_of_store(struct report_document **ret, struct store *st, const struct store_job *job,
		      const struct store_span *span, struct curve *curve);
/* Fills a document from a job of a snapshot; s is not needed after that. Returns 0 or -ENOMEM. */
int document_of_snapshot(struct report_document **ret, const struct snapshot *s,
			 const struct job_view *j);
/* Adds windows of the given lengths: an array ended by 0, at most WINDOWS_MAX. Windows cover whole
 * minutes (query.h). Returns 0 or -errno. */
int document_windows(struct report_document *s, struct store *st, const uint64_t *length_ns);
void document_close(struct report_document *s); /* s may be NULL */

/* Returns the job's name as shown to users. */
const char *document_name(const struct report_document *s);
/* Returns the number of runs, including those on other nodes and those not listed. */
uint64_t document_runs(const struct report_document *s);
/* Returns true if the job has time in the span, but all of it is excluded. */
bool document_left_out(const struct report_document *s);
/* Returns the job's state as text: "running", "unseen", "state unknown"... */
const char *document_state(const struct report_document *s);
/* Returns the elapsed time without UNOBSERVED; at least 0. */
uint64_t document_observed_ns(const struct sums *s);
/* Writes the goodput of those windows that are shorter than the document's span: "1h 91.2 %, 24h
 * 93.0 %". Returns NULL if there are no such windows. */
const char *document_lately(char *out, size_t len, const struct report_document *s);
/* Returns how a run or rank ended: "finished", "killed by signal 9", "exit status 3". If end_ns is
 * STORE_NONE, returns "still running" if the job is running and was seen recently (last_ns), or
 * else that the end was not seen. */
const char *document_fate(char *out, size_t len, const struct report_document *s, int64_t end_ns,
			  int64_t last_ns, int status);

/* Appends a copy of an item of `size` bytes. If the list already has DOCUMENT_LIST items, drops the
 * oldest items and counts them. Returns 0 or -ENOMEM. */
int document_list_add(struct document_list *l, const void *item, size_t size);
/* Add the report's caveats. Defined in document_caveats.c. */
void document_say(struct report_document *s);
void document_say_disruptions(struct report_document *s);

/* Append the report as text, or as one JSON object on one line. Defined in document_text.c and
 * document_json.c. */
void document_text(struct buffer *out, const struct report_document *s, int cols, bool color);
void document_json(struct buffer *out, const struct report_document *s);
/* Draws the text report on a canvas and appends its finished lines to out. */
void document_text_put(struct canvas *c, struct buffer *out, const struct report_document *s);
/* Appends "windows": [...], with the same members as windows in the lines of --json. */
void document_windows_json(struct buffer *out, const struct document_window *windows, uint32_t n);
/* Converts the windows of a rank or job; returns the number in use. wall_ns: difference between UTC
 * and CLOCK_MONOTONIC; 0: unknown. */
uint32_t document_windows_of(struct document_window ret[WINDOWS_MAX], const struct window_view *w,
			     const struct type_names *types, int64_t wall_ns);
/* Appends "jobs": [...] with the jobs of a snapshot. */
void document_jobs_json(struct buffer *out, const struct snapshot *s);
/* Appends the number that all ranks of a job have in common, as a string, because some JSON parsers
 * cannot represent 64-bit numbers. */
void document_key_json(struct buffer *out, const char *name, uint64_t key);

/* Returns true if the report needs a section about the job, because the job has several ranks or
 * runs, or had a disruption. */
bool document_job_matters(const struct snapshot *s, const struct job_view *j);

#endif
