/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - stream, model and everything that shows what it found, wired up once for live runs and
 * replays alike: whoever feeds the same records gets the same output. Single-threaded. */
#ifndef OUTPUT_OUTPUT_H
#define OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/ingest/durable.h"
#include "userspace/model/model.h"
#include "userspace/option/option.h"

struct node_view;
struct output;
struct snapshot;

enum output_view { VIEW_NONE, VIEW_EVENTS /* plain_event() */, VIEW_PLAIN, VIEW_LIVE };

/* In a replay the time is the tape's: a history gets a snapshot at each of its ticks. plain_fd:
 * where plain lines go; the report goes to report_fd. 0 or -errno after one line. */
int output_open(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		int report_fd);
/* The same, going on where the output stood that output_save() was called on. -EPROTO, -EBADMSG:
 * what was saved is of another version, or damaged. saved NULL: it begins anew; behind: what is in
 * its files stays, and numbers go on from there. */
int output_resume(struct output **ret, const struct options *o, enum output_view view, int plain_fd,
		  int report_fd, const struct durable_state *saved, bool behind);
/* Everything that is known now, after what was told has been written out. */
int output_save(struct output *out, struct durable_state *ret);
/* As output_save(), but only the number of facts sent, and the data that the exports' files still
 * lack. */
void output_save_exports(struct output *out, struct durable_state *ret);
/* From here on (until false) records are fed that a predecessor was fed already: what comes of them
 * is told only where it is certain that the predecessor did not get to it. */
void output_replaying(struct output *out, bool yes);
/* The processes that are known and have not ended. */
void output_processes(const struct output *out, model_process_fn *fn, void *ctx);
/* JSON lines go to standard output: they leave no room there for anything else. */
bool output_is_data(const struct options *o);
/* What can be said of the exports before anything is opened: 0, or -EINVAL after one line. */
int output_check(const struct options *o);
struct top_ui;
/* What gp-bpf top shows; live: on the terminal, else one frame at the end. 0 or -errno after one
 * line. */
int output_top(struct output *out, const struct top_ui *ui, bool live);
/* gp-bpf top may read what is known at that unix socket. 0 or -errno. */
int output_serve(struct output *out, const char *path);
/* Records in order of arrival (ingest/stream.h). */
int output_feed(struct output *out, const void *records, size_t len);
/* Calls fn for processes whose threads have to be checked (model_silent). */
void output_silent(const struct output *out, model_silent_fn *fn, void *ctx);
/* As model_carry(). */
int output_carry(const struct output *out, uint32_t i, struct carry *ret);
/* Sets the view of the node for all later snapshots; a copy is kept. */
void output_node(struct output *out, const struct node_view *v);
/* As of the last snapshot. */
struct output_sum {
	uint32_t jobs, ranks; /* that run; that train */
	uint64_t lost;	      /* records, ever */
};
void output_sum(const struct output *out, struct output_sum *ret);
/* Since output_open(): what a predecessor told is not in it. jobs: that trained. */
struct output_seen {
	uint64_t jobs, steps;
};
void output_seen(struct output *out, struct output_seen *ret);
bool output_trains(const struct output *out, uint32_t pid);
/* A second passed: snapshot to exporters and view. */
void output_tick(struct output *out);
/* As model_roles(). */
uint64_t output_roles(const struct output *out);
/* As model_chosen(). */
uint32_t output_chosen(const struct output *out);
/* The live view has the terminal. */
bool output_is_live(const struct output *out);
/* Keys are read there. */
bool output_has_keys(const struct output *out);
/* A key was pressed in the live view; 'q' means: end. 0: none. */
int output_key(struct output *out);
void output_resize(struct output *out);
/* No more records will come: what is held to be put in order goes on. */
void output_finish(struct output *out);
/* Number of the last fact that was told. */
uint64_t output_last_fact(const struct output *out);
/* A successor goes on from what output_save() gave: what is held is its business. */
void output_leave(struct output *out);
/* No more records: everything held is released, the report written, exporters closed. -errno when
 * some output was lost. */
int output_close(struct output *out, bool report);

#endif
