/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - connects stream, model, exports, store and views. Live runs and replays use the same
 * connections, so that the same records give the same output. Single-threaded. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/export/export.h"
#include "userspace/ingest/durable.h"
#include "userspace/model/model.h"
#include "userspace/option/option.h"

struct node_view;
struct output;
struct snapshot;

enum output_view { VIEW_NONE, VIEW_EVENTS /* prints plain_event() lines */, VIEW_PLAIN, VIEW_LIVE };

/* Opens all outputs that the options ask for. Plain lines go to plain_fd, the report goes to
 * report_fd. In a replay, times are those of the tape, and the store gets a snapshot at each tick
 * of the tape. Returns 0, or -errno after logging the reason. */
int output_open(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		int report_fd);
/* Like output_open(), but continues from a state saved by output_save(). saved NULL: starts without
 * a state. behind: continues existing files, and the numbers of facts in them. Returns 0; -EPROTO:
 * the state is of another version; -EBADMSG: it is damaged; or another -errno. */
int output_resume(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		  int report_fd, const struct durable_state *saved, bool behind);
/* Saves the whole state to *ret, after sending all facts so far to files and store. Returns 0 or
 * -errno. */
int output_save(struct output *out, struct durable_state *ret);
/* Like output_save(), but saves only the number of the last fact sent, and data that is not yet
 * written to the exports' files. */
void output_save_exports(struct output *out, struct durable_state *ret);
/* Begins (yes) or ends the replay of records that a predecessor has already processed. Their facts
 * are sent only if the predecessor certainly did not send them. */
void output_replaying(struct output *out, bool yes);
/* Calls fn for each known process that has not ended. */
void output_processes(const struct output *out, model_process_fn *fn, void *ctx);
/* Returns true if JSON lines go to standard output, so that nothing else may be printed there. */
bool output_is_data(const struct options *o);
/* Returns the options that exporters use. Their texts belong to o. resume: continue the files of a
 * predecessor. */
struct export_options output_export_options(const struct options *o, bool resume);
/* Checks the export options before anything is opened. Returns 0, or -EINVAL after logging the
 * reason. */
int output_check(const struct options *o);
struct top_ui;
/* Shows the view of gp-bpf top: continuously on the terminal (live), or one frame at the end.
 * Returns 0, or -errno after logging the reason. */
int output_top(struct output *out, const struct top_ui *ui, bool live);
/* Serves the state to other gp-bpf top processes at the unix socket `path`. Returns 0 or -errno. */
int output_serve(struct output *out, const char *path);
/* Processes records, in the order in which they arrived; the stream (ingest/stream.h) sorts them by
 * time. Returns 0 or -errno. */
int output_feed(struct output *out, const void *records, size_t len);
/* Calls fn for processes whose threads have to be checked; see model_silent(). */
void output_silent(const struct output *out, model_silent_fn *fn, void *ctx);
/* Calls fn for processes about whose job NCCL is to be asked; see model_stalled(). */
void output_stalled(const struct output *out, model_stalled_fn *fn, void *ctx);
/* Calls fn for processes that have to be examined; see model_unexplained(). */
void output_unexplained(const struct output *out, bool all, model_trainer_fn *fn, void *ctx);
/* Calls fn for processes that train; see model_trainers(). */
void output_trainers(const struct output *out, model_trainer_fn *fn, void *ctx);
/* Calls fn for processes that wait for input, and for their children; see model_starved(). */
void output_starved(const struct output *out, model_starved_fn *fn, void *ctx);
/* Calls fn for processes whose steps are slow; see model_slow(). */
void output_slow(const struct output *out, model_trainer_fn *fn, void *ctx);
/* See model_carry(). */
int output_carry(const struct output *out, uint32_t i, struct carry *ret);
/* Sets the state of the node that is added to later snapshots. v is copied. */
void output_node(struct output *out, const struct node_view *v);
/* Numbers of jobs, ranks and lost records in the last snapshot */
struct output_sum {
	uint32_t jobs, ranks; /* number of running jobs; number of ranks that train */
	uint64_t lost;	      /* records lost since the start */
};
void output_sum(const struct output *out, struct output_sum *ret);
/* Counts since output_open(); those of a predecessor are not included. jobs: number of jobs that
 * have trained. */
struct output_seen {
	uint64_t jobs, steps;
};
void output_seen(struct output *out, struct output_seen *ret);
bool output_trains(const struct output *out, uint32_t pid);
/* Passes a snapshot to exporters, store and views. Call once a second. */
void output_tick(struct output *out);
/* See model_roles(). */
uint64_t output_roles(const struct output *out);
/* See model_chosen(). */
uint32_t output_chosen(const struct output *out);
/* Returns true if the live view uses the terminal. */
bool output_is_live(const struct output *out);
/* Returns true if the live view reads keys. */
bool output_has_keys(const struct output *out);
/* Reads a key pressed in the live view. Returns the key; 'q': the user ends gp-bpf; 0: none. */
int output_key(struct output *out);
void output_resize(struct output *out);
/* Delivers the records that wait to be sorted. Call when no more records come. */
void output_finish(struct output *out);
/* Returns the number of the last fact that was sent. */
uint64_t output_last_fact(const struct output *out);
/* Call before output_close() if a successor continues from output_save(): the end of jobs and ranks
 * that are still running is then not reported. */
void output_hand_over(struct output *out);
/* Delivers the remaining records, writes the report (if `report` is set) and closes the exporters.
 * Returns 0, or -errno if some output was lost. */
int output_close(struct output *out, bool report);

#endif
