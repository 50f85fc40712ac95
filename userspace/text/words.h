/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - how facts are put into words, one way for the report, the live view and plain lines.
 * Pure, but for the time zone of text_time(). */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include "userspace/model/snapshot.h"
#include "userspace/text/canvas.h"

#define WORD_MAX 32

/* What is known of a duration: "31.2 ms", "unknown" for 0. */
const char *text_duration(char out[WORD_MAX], uint64_t ns);
/* "93.1 %", "<0.1 %", "0 %"; "unknown" when whole is 0. */
const char *text_percent(char out[WORD_MAX], uint64_t part, uint64_t whole);
/* "12:00:03" in the time zone of the person who looks; "--:--:--" when wall time is unknown. */
const char *text_time(char out[WORD_MAX], const struct snapshot *s, uint64_t mono_ns);
/* "2026-11-21 12:00:03 UTC"; "" when unknown. */
const char *text_date(char out[WORD_MAX + 8], int64_t real_ns);
/* "rank 0 of 2", "rank 0"; "" when the rank is unknown. */
const char *text_rank(char out[WORD_MAX], int rank, int world_size);

/* Of a command line, words joined by blanks, its program and its script alone: "python train.py
 * ...". */
void text_program(char *out, size_t cap, const char *text);

/* Time that was observed: elapsed without UNOBSERVED. */
uint64_t text_observed_ns(const struct ledger_view *l);

/* Parts of the time as people see them: the buckets, and what runs now and may still be claimed. */
#define PART_RUNNING BUCKET_COUNT
#define PART_COUNT   (BUCKET_COUNT + 1)
struct part {
	int id; /* enum bucket, or PART_RUNNING */
	uint64_t ns;
	const char *label;
};
#define PARTS_MAX (PART_COUNT + LEDGER_TYPES) /* custom events by type */
extern const struct part_style {
	const char *glyph;
	enum style style;
} part_style[PART_COUNT];
/* Those that are not zero, goodput first, then the largest first. Returns how many. names may be
 * NULL where no types are known. */
int text_parts(struct part parts[PARTS_MAX], const struct ledger_view *l,
	       const struct type_names *names);
/* How many of `cells` cells each part gets: all are given out, a part of 0.2 % or more gets at
 * least one. */
void text_apportion(const struct part *parts, int nparts, int cells, int *ret_cells);

/* The loop that a person wants to see: the one with the newest step. NULL when there is none. */
const struct loop_view *text_main_loop(const struct rank_view *r);

/* "killed by signal 9 (Killed)", "exit status 1", "finished", "running". */
const char *text_fate(char *out, size_t len, const struct rank_view *r);
/* Of the hang (or silence) that goes on, else the last one: "waits in a collective, rank 0 is
 * stopped". */
const char *text_hang(char *out, size_t len, const struct snapshot *s, const struct rank_view *r);

/* Of the lasting slowdown that goes on, else of the last one: "slow since step 480: +12 %,
 * forward", "slow from step 480 to 612: +12 %". NULL: there was none. */
const char *text_change(char *out, size_t len, const struct change_view *c);

/* Goodput of late: "1h 91.2 %, 24h 93.0 %". NULL: it is not older than the shortest window. */
const char *text_windows(char *out, size_t len, const struct rank_view *r);

#define TEXT_WHY_MAX 128
/* Why no trainer was found, and what to try: one sentence each, the first one in room where it has
 * numbers. */
void text_why_nothing(const struct snapshot *s, char room[TEXT_WHY_MAX], const char **ret_why,
		      const char **ret_hint);
/* Records that did not arrive, in words: "none", "12 call ring full, 3 late". */
const char *text_losses(char *out, size_t len, const struct snapshot *s);
uint64_t text_lost(const struct snapshot *s);
/* What the budget of overhead took: "confirm of torch counted, not sent; ...". NULL: nothing. */
const char *text_given_up(char *out, size_t len, const struct snapshot *s);

/* A phase worth a word: at least 0.05 % of the steps. */
bool text_phase_shows(uint64_t ns, uint64_t whole_ns);
/* Time of the steps that no phase claims: the job's own code between what is announced. */
uint64_t text_phase_rest_ns(const struct loop_view *l);

#endif
