/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - formats facts in the same way for the report, the live view and plain lines. Pure,
 * except for the time zone of text_time(). */
#ifndef TEXT_FORMAT_H
#define TEXT_FORMAT_H

#include "userspace/model/snapshot.h"
#include "userspace/text/canvas.h"

#define WORD_MAX 32

/* Writes "31.2 ms"; "unknown" for 0. */
const char *text_duration(char out[WORD_MAX], uint64_t ns);
/* Writes "93.1 %", "<0.1 %" or "0 %"; "unknown" if whole is 0. */
const char *text_percent(char out[WORD_MAX], uint64_t part, uint64_t whole);
/* Writes "12:00:03" in the user's time zone; "--:--:--" if wall time is unknown. */
const char *text_time(char out[WORD_MAX], const struct snapshot *s, uint64_t mono_ns);
/* Writes "2026-11-21 12:00:03 UTC"; "" if unknown. */
const char *text_date(char out[WORD_MAX + 8], int64_t real_ns);
/* Writes "rank 0 of 2" or "rank 0"; "" if the rank is unknown. */
const char *text_rank(char out[WORD_MAX], int rank, int world_size);

/* Writes the program and script of a command line whose words are joined by blanks: "python
 * train.py ...". */
void text_program(char *out, size_t cap, const char *text);

/* Returns the elapsed time without the time in BUCKET_UNOBSERVED. */
uint64_t text_observed_ns(const struct ledger_view *l);

/* Parts of a process's time as shown to users: one for each bucket, and PART_RUNNING for the
 * interval that has not ended, whose bucket is not known yet. */
#define PART_RUNNING BUCKET_COUNT
#define PART_COUNT   (BUCKET_COUNT + 1)
struct part {
	int id; /* enum bucket, or PART_RUNNING */
	uint64_t ns;
	const char *label;
};
#define PARTS_MAX (PART_COUNT + LEDGER_TYPES) /* custom events have a part for each type */
extern const struct part_style {
	const char *glyph;
	enum style style;
} part_style[PART_COUNT];
/* Lists the parts that are not zero: goodput first, then by size. Returns their number. names may
 * be NULL if no types are known. */
int text_parts(struct part parts[PARTS_MAX], const struct ledger_view *l,
	       const struct type_names *names);
/* Distributes the character cells of a bar among the parts; a part of 0.2 % or more gets at least
 * one cell. */
void text_apportion(const struct part *parts, int nparts, int cells, int *ret_cells);

/* Returns the training loop to show: the loop with the newest step. NULL: no loop. */
const struct loop_view *text_main_loop(const struct rank_view *r);

/* Writes how the process ended: "killed by signal 9 (Killed)", "exit status 1", "finished"; or
 * "running". */
const char *text_fate(char *out, size_t len, const struct rank_view *r);
/* Describes the current hang or silence, or else the last one: "waits in a collective, rank 0 is
 * stopped". */
const char *text_hang(char *out, size_t len, const struct snapshot *s, const struct rank_view *r);

/* Describes the current slowdown of steps, or else the last slowdown: "slow since step 480: +12 %,
 * forward: CPU contention", "slow from step 480 to 612: +12 %". NULL: steps were never slow. */
const char *text_change(char *out, size_t len, const struct loop_view *l);

/* Writes the goodput in each time window: "1h 91.2 %, 24h 93.0 %". NULL: the process is not older
 * than the shortest window. */
const char *text_windows(char *out, size_t len, const struct rank_view *r);

#define TEXT_WHY_MAX 128
/* Explains why no training process was found (*ret_why), and what to try (*ret_hint): one sentence
 * each. *ret_why is written to room if it contains numbers. */
void text_why_nothing(const struct snapshot *s, char room[TEXT_WHY_MAX], const char **ret_why,
		      const char **ret_hint);
/* Lists the number of lost records by cause: "none", "12 call ring full, 3 late". */
const char *text_losses(char *out, size_t len, const struct snapshot *s);
uint64_t text_lost(const struct snapshot *s);
/* Lists probes that the overhead limit has switched off: "confirm of torch counted, not sent; ...".
 * NULL: none. */
const char *text_given_up(char *out, size_t len, const struct snapshot *s);

/* Returns true if a phase takes at least 0.05 % of the steps' time; smaller phases are not
 * shown. */
bool text_phase_shows(uint64_t ns, uint64_t whole_ns);
/* Returns the time of steps that no phase covers: the job's own code. */
uint64_t text_phase_rest_ns(const struct loop_view *l);

#endif
