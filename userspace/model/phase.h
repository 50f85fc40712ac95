/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - what a process does beside stepping, and inside its steps: batches, evaluations,
 * checkpoints, phases. Pure and deterministic; 7 KiB as a rule, under 256 KiB whatever the process
 * does.
 *
 * Signals come here before they go to the step finder, so a span that ended before a step did is
 * told before that step can be asked about.
 */
#ifndef MODEL_PHASE_H
#define MODEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/base/archive.h"
#include "userspace/model/fact.h"
#include "userspace/model/signal.h"
#include "userspace/model/step.h"

enum span_kind {
	SPAN_FETCH, /* one batch, on a thread that trains (as far as is known) */
	SPAN_EVAL, /* batches without training: from the step before to the batch that is trained on
		    */
	SPAN_SAVE, /* a checkpoint: all writers of a burst */
	SPAN_RESTORE, /* readers of a burst */
};

struct span {
	enum span_kind kind;
	uint32_t tid;
	uint64_t begin_ns, end_ns;
	bool closed; /* its end was seen */
	bool async;  /* SPAN_SAVE: another thread trains meanwhile */
	uint32_t files;
	uint32_t seen;	/* files that the file system showed; 0: only what wrote or read them did */
	uint64_t bytes; /* of those */
	const char *file; /* "" when it has no name */
};
typedef void span_fn(void *ctx, const struct span *s); /* s is valid during the call only */

struct phase_finder;
struct phase_finder *phase_new(span_fn *emit, void *ctx); /* NULL: no memory */
void phase_free(struct phase_finder *pf);
/* 0 or -ENOMEM (the signal, or what a call before this one told, is then not known inside steps).
 */
int phase_feed(struct phase_finder *pf, const struct signal *s);
/* Files, from who opened them (begin_ns) to who closed them (ts_ns; text: path, count: bytes,
 * ident: of the folder that is the checkpoint, 0: none). What a marker shows too is the same
 * checkpoint. likely: the file alone makes one. Returns whether it is part of one. */
bool phase_written(struct phase_finder *pf, const struct signal *s, bool likely);
/* The folder has its name for good: nothing is added to the checkpoint that it is. */
void phase_renamed(struct phase_finder *pf, uint64_t unit, uint64_t ts_ns);
void phase_opened(struct phase_finder *pf, const struct signal *s); /* to be read */
void phase_read(struct phase_finder *pf, const struct signal *s);   /* ... and closed */
/* The thread did something between begin_ns and end_ns that belongs to no step. */
void phase_break(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
/* Between steps this thread evaluated, as runs of compiled programs show. */
void phase_evaluation(struct phase_finder *pf, uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
/* Is what this thread waits for time that training waits? Unknown before anything trained: yes. */
bool phase_trains(const struct phase_finder *pf, uint32_t tid);
/* emit and ctx: as for phase_new(). */
void phase_archive(struct archive *a, struct phase_finder **pf, span_fn *emit, void *ctx);

/* A finished step: cuts off the evaluation, checkpoint or restart that lies before or after the
 * work, and tells its phases. alone: the process has one loop. resume_ns: 0, or where the step
 * before says that this one starts; set for the next one. */
void phase_step(struct phase_finder *pf, const struct step *s, bool alone, uint64_t *resume_ns,
		struct fact_step *ret);

#endif
