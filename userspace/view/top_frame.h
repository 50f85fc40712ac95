/* SPDX-License-Identifier: Apache-2.0 */
/* top_frame.h - draws the frames of gp-bpf top: the jobs of a node, the ranks of a job, and help
 * for keys. Pure. Jobs and ranks are selected and sorted by top_order.c. Cells that several tables
 * have (bars, trouble) are drawn by top_cell.c; head, jobs and foot by top_frame.c; a job with its
 * ranks by top_frame_job.c. */
#ifndef VIEW_TOP_FRAME_H
#define VIEW_TOP_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/buffer.h"
#include "userspace/text/columns.h"
#include "userspace/view/top_state.h"
#include "userspace/text/format.h"

#define TOP_FILTER_MAX 64
#define TOP_NOTE_MAX   200

/* The sort orders of jobs and of ranks. Each has a name, for --sort, and a key. */
#define TOP_JOB_SORTS(X)                                                                           \
	X(TROUBLE, "trouble", 'M')                                                                 \
	X(JOB, "job", 'J')                                                                         \
	X(STATE, "state", 'S')                                                                     \
	X(RANKS, "ranks", 'R')                                                                     \
	X(STEP, "step", 'N')                                                                       \
	X(TIME, "time", 'T')                                                                       \
	X(GOODPUT, "goodput", 'G')                                                                 \
	X(BADPUT, "badput", 'B')                                                                   \
	X(DISRUPTIONS, "disruptions", 'D')
#define TOP_RANK_SORTS(X)                                                                          \
	X(RANK, "rank", 'R')                                                                       \
	X(PID, "pid", 'P')                                                                         \
	X(NODE, "node", 'O')                                                                       \
	X(STATE, "state", 'S')                                                                     \
	X(STEP, "step", 'N')                                                                       \
	X(LAST, "last", 'L')                                                                       \
	X(TIME, "time", 'T')                                                                       \
	X(P99, "p99", 'Q')                                                                         \
	X(GOODPUT, "goodput", 'G')                                                                 \
	X(WAIT, "wait", 'W')                                                                       \
	X(TROUBLE, "trouble", 'M')
#define X(id, name, key) TOP_JOB_##id,
enum top_job_sort { TOP_JOB_SORTS(X) TOP_JOB_SORT_COUNT };
#undef X
#define X(id, name, key) TOP_RANK_##id,
enum top_rank_sort { TOP_RANK_SORTS(X) TOP_RANK_SORT_COUNT };
#undef X
struct top_sort_row {
	const char *name;
	char key;
};
extern const struct top_sort_row top_job_sorts[TOP_JOB_SORT_COUNT],
	top_rank_sorts[TOP_RANK_SORT_COUNT];

struct top_ui { /* choices of the user */
	enum top_job_sort sort;
	enum top_rank_sort rank_sort;
	bool reverse, rank_reverse;
	/* show only jobs whose name matches this glob; without * ? [ it may match anywhere in the
	 * name; "": all jobs */
	char filter[TOP_FILTER_MAX];
	bool typing; /* the user is typing the filter */
	bool help;
	/* any: the user selected `job`; false: the first job is used. any_pid: the user selected
	 * `pid`; false: the job's first rank is used */
	bool any, any_pid;
	char job[20]; /* key of the selected job */
	uint32_t pid;
	bool open; /* show the selected job with its ranks, not the list of jobs */
	char note[TOP_NOTE_MAX];
	bool bad; /* the note is an error */
	bool own; /* there is no service, so gp-bpf top watches with its own probes */
};

struct top_frame_options {
	int cols, rows; /* size of the terminal; rows 0: no limit */
	bool color;
};

void top_frame(struct buffer *out, const struct top_state *s, const struct top_ui *ui,
	       const struct top_frame_options *o);

/* ---- selection and order --------------------------------------------------------------------- */

/* Fills ret with the indices of the filtered jobs in sort order; returns their number. */
uint32_t top_jobs_order(const struct top_state *s, const struct top_ui *ui, uint32_t ret[TOP_JOBS]);
/* Fills ret with the indices of a job's ranks in sort order; returns their number. */
uint32_t top_ranks_order(const struct top_state *s, const struct top_job *j,
			 const struct top_ui *ui, uint32_t ret[TOP_RANKS]);
/* Return the position of the selected job or rank in `order`, which has n elements. */
uint32_t top_job_at(const struct top_state *s, const struct top_ui *ui, const uint32_t *order,
		    uint32_t n);
uint32_t top_rank_at(const struct top_state *s, const struct top_ui *ui, const uint32_t *order,
		     uint32_t n);
/* Returns the job that is shown with its ranks; NULL: the list of jobs is shown, or the job no
 * longer exists. */
const struct top_job *top_job_open(const struct top_state *s, const struct top_ui *ui);
/* Returns the weight of a job's trouble for sorting: higher is worse; hung jobs have the
 * highest. */
int top_job_trouble(const struct top_job *j);

/* ---- parts of frames ------------------------------------------------------------------------- */

/* Returns the name of the program in a command line. It is a part of `command`, *ret_len bytes
 * long. */
const char *top_program(const char *command, size_t *ret_len);
/* Writes the job's name, or else a program and process ID of the job, as shown to users. Returns
 * out. */
const char *top_job_name(char *out, size_t len, const struct top_state *s, const struct top_job *j);
const char *top_clock(char out[WORD_MAX], const struct top_state *s, uint64_t mono_ns);
/* Lists the parts of the observed time: goodput first, then the others by size. Returns their
 * number. */
int top_parts(struct part parts[BUCKET_COUNT], const struct top_time *t);
void top_bar(struct canvas *c, const struct top_time *t, int width);
const char *top_ratio(char out[WORD_MAX], double ratio);
enum style top_ratio_style(double ratio);
/* Writes the headings of a table. The heading of column `sorted` is bold; -1: no column is
 * sorted. */
void top_heads(struct canvas *c, const struct column *col, int n, int sorted);
int top_column_at(const struct column *col, int i);
/* Writes text into column i of the current line. */
void top_cell(struct canvas *c, const struct column *col, int i, enum style st, const char *text);
void top_spark(struct canvas *c, const struct column *col, int i, const struct top_rank *r);
void top_rows_shown(uint32_t n, uint32_t at, uint32_t room, uint32_t *ret_first, uint32_t *ret_end);
void top_frame_job(struct canvas *c, const struct top_state *s, const struct top_ui *ui,
		   const struct top_job *j, int rows, struct buffer *out);
void top_foot(struct canvas *c, const struct top_ui *ui);

extern const char *const top_mark_name[TOP_MARKS];

#endif
