/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - finds the activities of a process between steps and within steps: batches, evaluations,
 * checkpoints, phases. Pass each signal to these functions before the step finder, so that a span
 * that ends before a step is reported before that step is read. Pure and deterministic; usually 7
 * KiB, under 256 KiB for any process. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_PHASE_H
#define MODEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/step_time.h"
#include "userspace/model/signal/signal.h"
#include "userspace/model/step/step.h"

enum span_kind {
	SPAN_FETCH, /* a batch was loaded, on a thread that trains as far as is known */
	/* Evaluation: batches without training, from the end of the previous step until the next
	 * batch for training was requested. */
	SPAN_EVAL,
	SPAN_SAVE,    /* a checkpoint: from its first write to its last one */
	SPAN_RESTORE, /* a checkpoint is read: from the first read to the last one */
	/* The training thread waited for an asynchronous checkpoint to begin. */
	SPAN_HANDOVER,
};

struct span {
	enum span_kind kind;
	uint32_t tid;
	uint64_t begin_ns, end_ns;
	bool closed; /* false: the end of the span was not seen, so end_ns is when it was cut off */
	bool async;  /* SPAN_SAVE: another thread trains during the save */
	uint32_t files;
	/* Number of files that the file system probes saw. 0: only calls of the framework's writers
	 * or readers were seen. */
	uint32_t seen;
	uint64_t bytes;	  /* total bytes of the files that were seen */
	const char *file; /* path; "" when unknown */
};
/* Receives one span; *s is valid during the call only. */
typedef void span_fn(void *ctx, const struct span *s);

struct phase_finder;
struct phase_finder *phase_new(span_fn *emit, void *ctx); /* NULL: no memory */
void phase_free(struct phase_finder *pf);
/* Returns true while thread tid writes a checkpoint. */
bool phase_saves(const struct phase_finder *pf, uint32_t tid);
/* Processes the next signal. Returns 0; -ENOMEM: the phases of steps lack this signal, or data of
 * an earlier call of a function that returns nothing. */
int phase_feed(struct phase_finder *pf, const struct signal *s);
/* Processes a written file that was opened at s->begin_ns and closed at s->ts_ns. s->text: path;
 * s->count: bytes; s->ident: hash of the folder that is the checkpoint, 0: a single file. If
 * markers show a checkpoint on the same thread, the file is part of it. likely: the file is a
 * checkpoint even without markers. Returns true if the file is part of a checkpoint. */
bool phase_written(struct phase_finder *pf, const struct signal *s, bool likely);
/* Notes that folder `unit` was renamed to its final name: its checkpoint is complete. */
void phase_renamed(struct phase_finder *pf, uint64_t unit, uint64_t ts_ns);
/* Notes that file system probes are attached: from now on, a call of the framework's reader
 * functions is a restore only if a file event shows that a file was read. */
void phase_files(struct phase_finder *pf);
/* Processes the opening of a file for reading. */
void phase_opened(struct phase_finder *pf, const struct signal *s);
/* Processes the closing of a file that was opened for reading. */
void phase_read(struct phase_finder *pf, const struct signal *s);
/* Notes that what the thread did between begin_ns and end_ns belongs to no step. */
void phase_break(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
/* Notes an evaluation between steps that was seen as runs of compiled programs. */
void phase_evaluation(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
/* Returns true when training waits for batches that this thread loads. Before the first training,
 * returns true for every thread. */
bool phase_trains(const struct phase_finder *pf, uint32_t tid);
/* Returns true when the process loaded many batches and never trained. *ret_since_ns: start of the
 * loading. */
bool phase_untrained(const struct phase_finder *pf, uint64_t *ret_since_ns);
/* Saves or restores *pf; emit and ctx as for phase_new(). */
void phase_archive(struct archive *a, struct phase_finder **pf, span_fn *emit, void *ctx);

/* Returns the start of the first backward pass after the start of a finished step; 0: unknown. */
uint64_t phase_worked_ns(const struct phase_finder *pf, const struct step *s);

/* Fills *ret for a step that has ended: cuts off evaluations, checkpoints and restarts before or
 * after its work, and divides the rest into phases. alone: the process has only one loop.
 * *resume_ns: the caller keeps it for each loop, at first 0. If it is not 0, the step starts there
 * instead of at s->start_ns. The call sets it to the start of the next step if something was cut
 * off the end of this one, else to 0. */
void phase_step(struct phase_finder *pf, const struct step *s, bool alone, uint64_t *resume_ns,
		struct fact_step *ret);

/* Returns true if the name is that of a range of torch's compiler (torch/_dynamo/utils.py). Older
 * versions of torch always emit these ranges; newer ones (from some version below 2.15) only for
 * profilers. */
bool phase_range_compiles(const char *text);

#endif
