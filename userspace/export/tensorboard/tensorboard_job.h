/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_job.h - writes the scalars of jobs and steps, in these folders. Not thread-safe.
 *
 * JOB/goodput: over all runs of the job, by wall time, with the goodput library's tags
 * (ml-goodput-measurement 0.2.3, src/monitoring.py): goodput/goodput and badput/TYPE in percent of
 * the observed time; job/disruptions, and performance/ideal_step_time_seconds of its reference
 * rank.
 *
 * JOB/run-K/rank-N: performance/step_time_seconds and step_deviation, each step once, in the K-th
 * run of the job; performance/step_queued_seconds instead if only the queueing of work is known.
 * Tags of further loops begin with loop_I/.
 *
 * Steps are numbered from 0, as in the library. A job without a name is "pid-PID", and so is a
 * process without a rank. */
#ifndef EXPORT_TENSORBOARD_JOB_H
#define EXPORT_TENSORBOARD_JOB_H

#include "userspace/account/log/answer.h"
#include "userspace/export/tensorboard/tensorboard_board.h"
#include "userspace/model/job/fact.h"

struct tb_step { /* a training step, copied from a fact */
	char job[GP_JOB_MAX];
	int64_t real_ns; /* end of the step; 0: unknown */
	uint64_t number, ns;
	uint32_t pid, run, loop, flags;
	int rank;
	bool repeated; /* a predecessor reported the step, so the files may already contain it */
	enum step_series series;
};

struct tb_jobs;
int tb_jobs_new(struct tb_jobs **ret, struct tb_board *board); /* board: owned by the caller */
void tb_jobs_free(struct tb_jobs *j);
/* Reads a step from a fact. Returns false if it is not a training step. */
bool tb_step_of(struct tb_step *ret, const struct fact *f);
void tb_jobs_step(struct tb_jobs *j, const struct tb_step *s);
/* Returns true when many steps wait for a snapshot with the ideal step time of their rank. */
bool tb_jobs_wait(const struct tb_jobs *j);
void tb_jobs_snapshot(struct tb_jobs *j, const struct snapshot *s);

/* Like tb_jobs_snapshot(), but for a log of the instrumented library, at the time of the answer:
 * JOB/goodput, and the step deviations of the log. names: those of the log. Returns false if
 * nothing was written, also if the library raises an exception. */
struct goodput_names;
bool tb_answer(struct tb_board *board, const struct goodput_answer *a,
	       const struct goodput_names *names);

#endif
